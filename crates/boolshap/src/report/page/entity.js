// The entity, its switches, and the circuit's decision.

const switches = []; // by feature: the elements that change

function buildSwitches() {
  for (const column of page.columns) {
    const field = el("div", { className: "field" });
    if (column.features.length > 1) {
      const heading = el("h3", { id: `column-${column.features[0]}` }, ...breakable(column.name));
      set(field, { role: "group", "aria-labelledby": heading.id });
      field.append(heading);
    }
    for (const feature of column.features) field.append(buildSwitch(feature, column));
    $("switches").append(field);
  }
}

function buildSwitch(feature, column) {
  const full = page.features[feature].name;
  const prefix = `${column.name}=`;
  const short = column.features.length > 1 && full.startsWith(prefix) && full.length > prefix.length;
  const name = el("span", { className: "name", id: `name-${feature}` }, ...breakable(short ? full.slice(prefix.length) : full));
  const meaning = el("span", { className: "meaning", id: `meaning-${feature}` });
  const now = el("span", { className: "now", id: `now-${feature}` }, meaning);
  const button = el("button", { type: "button", className: "switch", disabled: !answersAny(), title: full },
    el("span", { className: "knob" }), el("span", { className: "what" }, name, now));
  set(button, { role: "switch", "data-feature": feature, "aria-labelledby": name.id, "aria-describedby": now.id });
  switches[feature] = { button, meaning, now, column, flip: null };
  return button;
}

function drawSwitches() {
  switches.forEach(({ button, meaning }, feature) => {
    const bit = state.bits[feature];
    set(button, { "aria-checked": bit === 1 });
    const words = [rawValue(feature), meaningOf(feature, bit)].filter(Boolean).join(", ");
    if (meaning.textContent !== words) meaning.textContent = meaning.title = words;
  });
  drawSource();
}

// The value in the data, if the switch is unchanged and the value says more than the switch.
function rawValue(feature) {
  const { row, bits } = state;
  const { column } = switches[feature];
  if (!row || column.one_hot || row.bits[feature] !== bits[feature]) return "";
  const names = row.columns || page.table.columns;
  const index = names.findIndex((one) => one.name === column.name);
  const raw = index < 0 ? "" : cellText(row.cells[index]);
  return raw === String(bits[feature]) ? "" : raw;
}

// Without rows the page starts with a valid input: the first value of every column with several.
function ownBits() {
  const bits = page.features.map(() => 0);
  for (const { features, one_hot } of page.columns) if (one_hot) bits[features[0]] = 1;
  return bits;
}

function isChanged() {
  const start = state.row ? state.row.bits : null;
  const from = start || ownBits();
  return state.bits.some((bit, feature) => bit !== from[feature]);
}

function drawSource() {
  const { row } = state;
  const changed = isChanged();
  say($("source"), row ? `Row ${thousands(row.row)}${changed ? ", changed" : ""}` : answersAny() ? "An input of your own" : "One input");
  $("undo").disabled = !changed || !answersAny();
  $("row-previous").disabled = !row || row.row <= 1;
  $("row-next").disabled = !row || row.row >= rowCount();
}

function drawFlips() {
  const flips = new Set(state.answer.flips);
  switches.forEach((parts, feature) => {
    if (flips.has(feature)) {
      parts.flip = parts.flip || el("span", { className: "flip", textContent: "changes the decision" });
      parts.flip.dataset.flip = feature;
      parts.flip.classList.toggle("to-one", state.answer.prediction === 0);
      if (!parts.flip.isConnected) parts.now.append(parts.flip);
    } else if (parts.flip) parts.flip.remove();
  });
}

// The bits after a switch: in a column with several values, switching one on switches the others off.
function switched(feature) {
  const bits = [...state.bits];
  const { column } = switches[feature];
  if (!bits[feature] && column.one_hot) for (const sibling of column.features) bits[sibling] = 0;
  bits[feature] = 1 - bits[feature];
  return bits;
}

const SLOW_ANSWER = 40;
let late = 0;
function toggle(feature, start) {
  state.bits = switched(feature);
  // Switch and answer are drawn in the same frame, unless the answer is slow.
  clearTimeout(late);
  late = setTimeout(drawSwitches, SLOW_ANSWER);
  explain(start);
}

// Shows the answer for the current bits; `start` is the time of the click, for the measurement.
async function explain(start) {
  writeAddress();
  const began = performance.now();
  const signal = explaining();
  foreseeing();
  try {
    const { base_value, explanations } = foreseen.get(state.bits.join("")) || (await ask("api/explain", questionOf([state.bits]), signal));
    page.base_value = base_value;
    clearTimeout(late);
    drawSwitches();
    showAnswer(labelled(explanations[0]));
    clearError();
    if (start !== undefined) recordSwitch(start);
    if (answersAny() && performance.now() - began < QUICK_ANSWER) setTimeout(foresee);
  } catch (error) {
    if (error.name === "AbortError") return;
    dim(true);
    showError(error);
  }
}

function questionOf(entities) {
  const { distribution, players, class: number } = state.game;
  const question = { entities, distribution, players, flips: page.output !== "score" };
  if (number !== null && number !== undefined) question.class = number;
  return question;
}

// If answers are fast, those for every possible next switch are requested together, so that the next one is shown at
// once.
const QUICK_ANSWER = 30;
const MOST_FORESEEN = 200;
const foreseeing = latest();
let foreseen = new Map();
async function foresee() {
  foreseen = new Map();
  const hasValue = (bits) => page.columns.every(({ features, one_hot }) => !one_hot || features.some((feature) => bits[feature]));
  const next = page.features.map((_, feature) => switched(feature)).filter((bits) => state.game.players === "features" || hasValue(bits));
  if (!next.length || next.length > MOST_FORESEEN) return;
  try {
    const { base_value, explanations } = await ask("api/explain", questionOf(next), foreseeing());
    foreseen = new Map(next.map((bits, i) => [bits.join(""), { base_value, explanations: [explanations[i]] }]));
  } catch {
    // Then they are requested one by one.
  }
}

function showAnswer(answer) {
  state.answer = { flips: [], ...answer, page };
  dim(false);
  drawOutcome();
  drawWaterfall(isCalm());
  drawFlips();
}

// Animate only isolated changes; in quick succession it would delay the next drawing.
let lastDrawn = -Infinity;
function isCalm() {
  const before = lastDrawn;
  lastDrawn = performance.now();
  return lastDrawn - before > 400;
}

function dim(stale) {
  $("outcome").classList.toggle("stale", stale);
  $("waterfall").classList.toggle("stale", stale);
}

// The frame is on the screen when a task after its animation frame runs.
function recordSwitch(start) {
  requestAnimationFrame(() => {
    const channel = new MessageChannel();
    channel.port1.onmessage = () => {
      performance.measure("switch", { start, end: performance.now() });
      channel.port1.close();
    };
    channel.port2.postMessage(null);
  });
}

async function chooseRow(number, bits) {
  try {
    state.row = await fetchRow(number);
  } catch (error) {
    return showError(error);
  }
  state.bits = bits || [...state.row.bits];
  clearError();
  drawSwitches();
  markRow();
  return explain();
}

function undo() {
  state.bits = state.row ? [...state.row.bits] : ownBits();
  drawSwitches();
  explain();
  if (state.row) $("row-next").focus();
}

// Where scores of the model are explained and not decisions: the score of the row.
const scoreOf = (answer) => (page.output === "score" ? answer.score ?? answer.prediction : undefined);

function drawOutcome() {
  const score = scoreOf(state.answer);
  const prediction = score === undefined ? state.answer.prediction : Number(score >= 0);
  say($("prediction").firstElementChild, score === undefined ? labelText(prediction) : minus(score.toFixed(4)));
  say($("prediction").lastElementChild, score !== undefined || labelText(prediction) === String(prediction) ? "" : ` ${prediction}`);
  set($("prediction"), { "data-prediction": prediction });
  set($("outcome"), { "data-prediction": prediction });
  say($("base-value"), minus(page.base_value.toFixed(4)));
  set($("base-value"), { "data-value": page.base_value });
  say($("truth"), score === undefined ? truthText(prediction) : "the score before the decision");
}

const labelText = (bit) => minusNumbers(page.labels[bit] ?? String(bit));

// With several classes a row's label names a class, not this yes or no.
// Of several classes the page shows one: whether the prediction is that class.
function labelled(answer) {
  return "explained_value" in answer ? { ...answer, prediction: answer.explained_value } : answer;
}

function truthText(prediction) {
  const { row } = state;
  if (page.choices.classes.length || !row || row.label === null || row.label === undefined) return "";
  if (isChanged()) return "not an input from the data";
  return row.label === prediction ? "as in the data" : `in the data: ${labelText(row.label)}`;
}

function drawLabels() {
  document.querySelectorAll(".ghost").forEach((ghost, bit) => { ghost.textContent = `${labelText(bit)} ${bit}`; });
  const [one, zero] = $("legend").children;
  one.textContent = towards(1);
  zero.textContent = towards(0);
}

const towards = (bit) => (page.labels[bit] === String(bit) ? `towards ${bit}` : `towards ${bit}, ${labelText(bit)}`);

function buildChoices() {
  const { distributions, players, classes } = page.choices;
  const fields = [["class", "Class", classes], ["distribution", "Distribution", distributions], ["players", "Players", players]];
  $("choices").replaceChildren(...fields.filter(([, , list]) => list.length > 1).map(([field, name, list]) => buildChoice(field, name, list)));
}

function buildChoice(field, name, list) {
  const select = el("select", { id: `choose-${field}` }, ...list.map(({ value, words }) => el("option", { value, textContent: words })));
  select.addEventListener("change", () => changeGame({ [field]: field === "class" ? Number(select.value) : select.value }));
  return el("label", {}, el("span", { className: "choice-name", textContent: name }), select);
}

// The last choice, even if the previous one has not been loaded yet.
let chosenGame = gameOf(page);
async function changeGame(change) {
  const busy = setTimeout(() => markBusy(true), 150); // most answers arrive before dimming the page would help
  try {
    chosenGame = { ...chosenGame, ...change };
    await loadGame(chosenGame);
    clearError();
    loadRows();
    await explain();
  } catch (error) {
    showError(error);
    if (error.name === "AbortError") return clearTimeout(busy);
    chosenGame = { ...state.game };
  }
  clearTimeout(busy);
  markBusy(false);
  drawChoices();
}

async function loadGame(game) {
  page = await ask(`api/page?${gameQuery(game)}`, undefined, changing());
  state.game = gameOf(page);
  chosenGame = { ...state.game };
  foreseen = new Map();
  drawGame();
}

// Resets the selects to the game shown, without moving the focus.
function drawChoices() {
  for (const field of GAME) {
    const select = $(`choose-${field}`);
    if (select) select.value = state.game[field] ?? select.options[0].value;
  }
}

function markBusy(busy) {
  document.querySelectorAll("figure").forEach((figure) => {
    figure.classList.toggle("stale", busy);
    figure.setAttribute("aria-busy", busy);
  });
}
