// The address of the current state, and the start of the page.

let written = null;
let writing = 0;

// Debounced, because browsers limit how often the address may change.
function writeAddress() {
  clearTimeout(writing);
  writing = setTimeout(() => {
    const text = addressOf().toString();
    if (text === written) return;
    written = text;
    try {
      history.replaceState(null, "", text ? `#${text}` : location.pathname + location.search);
    } catch {
      // Some browsers forbid it for local files; the page works without it.
    }
  }, 100);
}

function addressOf() {
  const parts = new URLSearchParams();
  if (state.row && state.row.row !== 1) parts.set("row", state.row.row);
  if (isChanged()) parts.set("bits", state.bits.join(""));
  for (const field of GAME) if (state.game[field] !== defaults[field]) parts.set(field, state.game[field]);
  return parts;
}

async function readAddress() {
  const text = location.hash.slice(1);
  written = text;
  const parts = new URLSearchParams(text);
  const refused = answersAny() ? await restoreGame(parts) : null;
  const wanted = parts.get("bits");
  const bits = wanted !== null && wanted.length === page.features.length && /^[01]+$/.test(wanted) ? bitsOf(wanted) : null;
  const row = parts.has("row") ? Number(parts.get("row")) : 1;
  state.row = null;
  if (rowCount()) await chooseRow(isRow(row) ? row : 1, bits);
  if (!state.row) await chooseBits(bits);
  if (refused) showError(refused);
  if (wanted !== null && !bits) showError(new Error(`The bits in the address should be ${page.features.length} zeros and ones.`));
  if (parts.has("row") && !isRow(row)) showError(new Error(`There is no row ${parts.get("row")} here.`));
}

// Without a row: the bits in the address, otherwise the first kind of a report, otherwise a default input.
function chooseBits(bits) {
  const known = page.kinds && page.kinds.bits.length ? bitsOf(page.kinds.bits[0]) : ownBits();
  state.bits = bits || known;
  drawSwitches();
  return explain();
}

async function restoreGame(parts) {
  const game = gameOf({ game: defaults });
  for (const field of GAME) if (parts.has(field)) game[field] = field === "class" ? Number(parts.get(field)) : parts.get(field);
  if (GAME.every((field) => game[field] === state.game[field])) return null;
  let refused = null;
  try {
    await loadGame(game);
  } catch (error) {
    refused = error;
  }
  drawChoices();
  return refused;
}

function drawGame() {
  gatherPlayers();
  drawLabels();
  drawFigures();
  $("title").textContent = document.title = page.title;
  drawPerformance();
  $("words").replaceChildren(...page.game.words.map((words) => el("p", { textContent: words })));
  $("facts").replaceChildren(...page.facts.map(([name, text]) => el("div", {}, el("dt", { textContent: name }), el("dd", { textContent: text }))));
}

function listen() {
  $("switches").addEventListener("click", (event) => {
    const button = event.target.closest("[role=switch]");
    if (button && answersAny()) toggle(Number(button.dataset.feature), event.timeStamp);
  });
  $("undo").addEventListener("click", undo);
  $("row-previous").addEventListener("click", () => stepRow(-1));
  $("row-next").addEventListener("click", () => stepRow(1));
  $("explain-predicted").addEventListener("click", () => changeGame({ class: state.answer.class }));
  $("pin").addEventListener("click", pin);
  $("unpin").addEventListener("click", unpin);
  $("beside").addEventListener("click", toggleBeside);
  $("to-rows").addEventListener("click", () => $("search").focus());
  $("show-all").addEventListener("click", () => {
    state.showAll = !state.showAll;
    drawWaterfall(false);
  });
  addEventListener("hashchange", () => {
    if (location.hash.slice(1) !== written) readAddress();
  });
  new ResizeObserver(([entry]) => {
    if (Math.abs(entry.contentRect.width - chart.width) < 1) return;
    chart.width = entry.contentRect.width;
    drawWaterfall(false);
    loadFigures();
  }).observe($("waterfall"));
}

// Enables what can be changed: everything, or only the row.
function drawAbilities() {
  for (const { button } of switches) button.disabled = !answersAny();
  $("undo").hidden = !answersAny();
  $("questions").hidden = !answersAny() || !page.compiled;
  $("beside").hidden = !page.beside || !answersAny();
  if (page.beside) say($("beside"), `Compare with ${page.beside.name}`);
  if (page.notes.fixed) $("fixed-hint").firstChild.textContent = `${page.notes.fixed} `;
  $("fixed-hint").hidden = answersAny() || rowCount() < 2;
}

// Switches to a new backend, such as the engine inside a report once it is ready: every input and game can be chosen.
async function wake(newWay) {
  if (!newWay) return;
  way = newWay;
  page = { ...(await ask(`api/page?${gameQuery(state.game)}`)), kinds: page.kinds, table: page.table };
  state.game = gameOf(page);
  buildChoices();
  drawChoices();
  drawGame();
  drawAbilities();
}

// Starts the engine of a report after its rows are drawn, or before if the address may need more than the report
// stores.
async function awake() {
  try {
    await wake(await startEngine());
    if (answersAny() && state.row) await explain();
  } catch (error) {
    showError(error);
  }
}

// Unpacks the rows of a report and answers from them.
async function unpackRows() {
  const rows = unpacking("page-rows");
  if (rows) Object.assign(page, await new Response(rows).json());
  way = keptBy(page);
}

async function begin() {
  if (!page.live) await unpackRows();
  buildPlayground();
  buildSwitches();
  buildQuestions();
  buildRows();
  buildChoices();
  drawChoices();
  drawGame();
  $("steps").hidden = !rowCount();
  drawAbilities();
  listen();
  listenForTips();
  const isAddressed = location.hash.length > 1;
  if (isAddressed) await awake();
  await readAddress();
  await loadRows();
  document.documentElement.dataset.ready = "1";
  loadFigures();
  if (!isAddressed) {
    await awake();
    loadFigures();
  }
  document.documentElement.dataset.awake = "1";
}

begin().catch(showError);
