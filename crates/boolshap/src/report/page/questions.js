// Questions about the decision: what would change it, what is enough for it, how far it is from another one, and
// whether it is fair. Answers and sentences come from the library; the user chooses locks, costs and protected columns
// here.

const changeAsked = latest();
const askers = { change: latest(), reason: latest(), radius: latest(), fair: latest() };
const columnPlayers = () => (page.columns.some((column) => column.features.length > 1) ? "columns" : "features");
const playerNames = () => (columnPlayers() === "columns" ? page.columns.map((column) => column.name) : page.features.map((feature) => feature.name));

function about(question, settings = {}) {
  return { question, entities: [state.bits], players: columnPlayers(), sentences: true, ...settings };
}

// Loads the sentence on the smallest change under the verdict; without an answer it is left out.
async function askChange(key) {
  if (page.output === "score" || !page.compiled || !everyColumnHasValue(state.bits)) {
    state.words.change = null;
    return drawWords();
  }
  try {
    const { rows } = await ask("api/ask", about("counterfactual", { limit: 1 }), changeAsked());
    if (key !== state.bits.join("")) return;
    state.words.change = rows[0].sentence;
  } catch (error) {
    if (error.name === "AbortError") return;
    state.words.change = null;
  }
  drawWords();
}

const locks = new Set();
const costs = new Map();
const guarded = new Set();

function buildQuestions() {
  const names = playerNames();
  const line = (name, at) => {
    const lock = el("input", { type: "checkbox", id: `lock-${at}` });
    const cost = el("input", { type: "number", min: "0", step: "any", placeholder: "1", id: `cost-${at}` });
    cost.setAttribute("aria-label", `Cost of changing ${name}`);
    lock.addEventListener("change", () => { if (lock.checked) locks.add(name); else locks.delete(name); answerChange(); });
    cost.addEventListener("input", () => { if (cost.value === "") costs.delete(name); else costs.set(name, Number(cost.value)); answerChange(); });
    return el("tr", {}, el("th", { scope: "row" }, ...breakable(name)), el("td", {}, el("label", { className: "check" }, lock, " cannot change")), el("td", {}, cost));
  };
  const head = el("tr", {}, ...["Column", "Lock", "Cost"].map((words) => el("th", { scope: "col", textContent: words })));
  const table = el("table", {}, el("thead", {}, head), el("tbody", {}, ...names.map(line)));
  const frame = el("div", { className: "scroll short" }, table);
  set(frame, { tabindex: 0, role: "region", "aria-label": "Locks and costs" });
  area("change").replaceChildren(el("ul", { className: "answer" }), el("p", { className: "hint", textContent: "Lock what cannot be changed, and say what a change costs (1 if nothing is said):" }), frame);
  area("reason").replaceChildren(el("p", { className: "answer" }), el("p", { className: "hint", textContent: "The smallest set of columns whose values alone decide it, marked in the waterfall." }));
  area("radius").replaceChildren(el("p", { className: "answer" }));
  const box = (name, at) => {
    const input = el("input", { type: "checkbox", id: `protect-${at}` });
    input.addEventListener("change", () => { if (input.checked) guarded.add(name); else guarded.delete(name); answerFair(); });
    return el("label", { className: "check" }, input, el("span", {}, " ", ...breakable(name)));
  };
  area("fair").replaceChildren(el("p", { className: "hint", textContent: "Choose the columns that must not matter:" }), el("div", { className: "boxes" }, ...names.map(box)), el("p", { className: "answer" }));
  for (const name of Object.keys(askers)) $(`ask-${name}`).addEventListener("toggle", () => refreshQuestion(name));
}

const area = (name) => $(`ask-${name}`).querySelector(".asked");
const answering = { change: answerChange, reason: answerReason, radius: answerRadius, fair: answerFair };

function refreshQuestion(name) {
  if (!answersAny()) return;
  if ($(`ask-${name}`).open) answering[name]();
  else if (name === "reason") markNeeded(null);
}

// Runs after each change of the input; answers for the previous input are dimmed until the new ones arrive.
function refreshQuestions() {
  if (!answersAny()) return;
  for (const name of Object.keys(askers)) if ($(`ask-${name}`).open) refreshQuestion(name);
}

async function answered(name, body, show) {
  const place = area(name).querySelector(".answer");
  place.classList.add("stale");
  try {
    show(place, await ask("api/ask", body, askers[name]()));
  } catch (error) {
    if (error.name === "AbortError") return;
    place.replaceChildren(place.tagName === "UL" ? el("li", { textContent: error.message }) : error.message);
  }
  place.classList.remove("stale");
}

function answerChange() {
  const settings = { limit: 5 };
  if (locks.size) settings.freeze = [...locks];
  if (costs.size) settings.costs = Object.fromEntries(costs);
  return answered("change", about("counterfactual", settings), (place, { rows: [row] }) => {
    const first = el("li", {}, minusNumbers(row.sentence));
    place.replaceChildren(first, ...row.inputs.slice(1).map((input, at) => changeLine(input, row.changes[at + 1])));
    if (row.inputs.length) first.append(" ", tryButton(row.inputs[0]));
  });
}

const changeLine = (input, words) => el("li", {}, `Or ${minusNumbers(words)}. `, tryButton(input));

function tryButton(input) {
  const button = el("button", { type: "button", className: "quiet", textContent: "Try it" });
  button.addEventListener("click", () => {
    state.bits = bitsOf(input);
    drawSwitches();
    explain();
  });
  return button;
}

function answerReason() {
  return answered("reason", about("reason", { minimum: true }), (place, { rows: [row] }) => {
    say(place, minusNumbers(row.sentence));
    markNeeded(row.reasons[0] || []);
  });
}

function answerRadius() {
  return answered("radius", about("robustness"), (place, { rows: [row] }) => say(place, row.sentence));
}

function answerFair() {
  const place = area("fair").querySelector(".answer");
  if (!guarded.size) return say(place, "");
  return answered("fair", about("bias", { protected: [...guarded] }), (node, { rows: [row], sentence }) => say(node, `${minusNumbers(row.sentence)} ${sentence || ""}`));
}

// Marks the bars of these columns in the waterfall; null removes the marks.
function markNeeded(names) {
  state.needed = names && new Set(names);
  $("legend").querySelector(".needed").hidden = !names;
  drawWaterfall(false);
}

function isNeeded(player) {
  if (!state.needed) return false;
  if (state.needed.has(page.players[player])) return true;
  return page.columns.some((column) => state.needed.has(column.name) && column.features.some((feature) => page.player_of[feature] === player));
}
