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

// Without rows the page starts with a valid input: the first value of every one-hot column.
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

function sourceText() {
  const { row } = state;
  return row ? `Row ${thousands(row.row)}${isChanged() ? ", changed" : ""}` : answersAny() ? "An input of your own" : "One input";
}

function drawSource() {
  say($("source"), sourceText());
  $("undo").disabled = !isChanged() || !answersAny();
  $("row-previous").disabled = state.place === null || state.place <= 0;
  $("row-next").disabled = state.place === null || state.place + 1 >= listedTotal();
}

function drawFlips() {
  const flips = new Set(state.answer.flips);
  switches.forEach((parts, feature) => {
    if (flips.has(feature)) {
      parts.flip = parts.flip || el("span", { className: "flip" });
      say(parts.flip, `flip: ${labelText(1 - state.answer.prediction)}`);
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

const everyColumnHasValue = (bits) => page.columns.every(({ features, one_hot }) => !one_hot || features.some((feature) => bits[feature]));

// Shows the answer for the current bits; `start` is the time of the click, for the measurement.
async function explain(start) {
  writeAddress();
  const began = performance.now();
  const signal = explaining();
  foreseeing();
  try {
    const key = state.bits.join("");
    const { base_value, explanations, words } = foreseen.get(key) || (await askWithWords([state.bits], signal));
    page.base_value = base_value;
    clearTimeout(late);
    state.words = { ...words[0] };
    drawSwitches();
    showAnswer(labelled(explanations[0]));
    clearError();
    askChange(key);
    if (start !== undefined) recordSwitch(start);
    if (answersAny() && performance.now() - began < QUICK_ANSWER) setTimeout(foresee);
  } catch (error) {
    if (error.name === "AbortError") return;
    dim(true);
    showError(error);
  }
}

// The scores of entities, with the sentences about them.
async function askWithWords(entities, signal) {
  const { flips, ...plain } = questionOf(entities);
  const said = ask("api/words", plain, signal);
  said.catch(() => {}); // reported below, unless the scores fail first
  const scores = await ask("api/explain", { ...plain, flips }, signal);
  return { ...scores, words: (await said).words };
}

function questionOf(entities) {
  const { distribution, players, class: number } = state.game;
  const question = { entities, distribution, players, flips: page.output !== "score" };
  if (number !== null && number !== undefined) question.class = number;
  return question;
}

// If answers are fast, the answers to every possible next switch are prefetched in one request, so that the next one is
// shown immediately.
const QUICK_ANSWER = 30;
const MOST_FORESEEN = 200;
const foreseeing = latest();
let foreseen = new Map();
async function foresee() {
  foreseen = new Map();
  const next = page.features.map((_, feature) => switched(feature)).filter((bits) => state.game.players === "features" || everyColumnHasValue(bits));
  if (!next.length || next.length > MOST_FORESEEN) return;
  try {
    const { base_value, explanations, words } = await askWithWords(next, foreseeing());
    foreseen = new Map(next.map((bits, i) => [bits.join(""), { base_value, explanations: [explanations[i]], words: [words[i]] }]));
  } catch {
    // On failure they are requested one by one.
  }
}

function showAnswer(answer) {
  state.answer = { flips: [], ...answer, page };
  dim(false);
  state.needed = null;
  drawOutcome();
  drawWaterfall(isCalm());
  drawFlips();
  if (state.beside) askBeside();
  else drawComparison();
  drawPixels();
  refreshQuestions();
}

// Animate only isolated changes; in quick succession, animations would delay the next drawing.
let lastDrawn = -Infinity;
function isCalm() {
  const before = lastDrawn;
  lastDrawn = performance.now();
  return lastDrawn - before > 400;
}

function dim(stale) {
  for (const id of ["outcome", "waterfall"]) {
    $(id).classList.toggle("stale", stale);
    $(id).setAttribute("aria-busy", stale);
  }
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

async function chooseRow(number, bits, place = null) {
  try {
    state.row = await fetchRow(number);
  } catch (error) {
    return showError(error);
  }
  const { search, wrong, sort, descending } = state.query;
  const inOrder = !search.trim() && !wrong && sort === "row" && !descending;
  state.place = place ?? (inOrder ? number - 1 : placeInList(number));
  state.bits = bits || [...state.row.bits];
  clearError();
  drawSwitches();
  markRow();
  return explain();
}

// Moves to the previous or next row, in the order of the list below.
async function stepRow(by) {
  const place = state.place + by;
  try {
    const { rows } = await askRows(place, 1, choosing());
    if (rows.length) await chooseRow(rows[0].row, undefined, place);
  } catch (error) {
    showError(error);
  }
}

function undo() {
  state.bits = state.row ? [...state.row.bits] : ownBits();
  drawSwitches();
  explain();
  $("source").scrollIntoView({ block: "nearest" });
}

// The score of the row, if the page explains scores of the model rather than decisions.
const scoreOf = (answer) => (page.output === "score" ? answer.score ?? answer.prediction : undefined);

function drawOutcome() {
  const score = scoreOf(state.answer);
  const prediction = score === undefined ? state.answer.prediction : Number(score >= 0);
  const [decided, other] = verdict(prediction, score);
  say($("prediction").firstElementChild, decided);
  say($("prediction").lastElementChild, other);
  set($("prediction"), { "data-prediction": prediction });
  set($("outcome"), { "data-prediction": prediction });
  say($("base-value"), minus(page.base_value.toFixed(4)));
  set($("base-value"), { "data-value": page.base_value });
  say($("base-words"), page.game.base);
  say($("truth"), score === undefined ? truthText() : "the score before the decision");
  say($("mini"), `${decided}${other}`);
  drawWords();
  drawPredicted();
}

const severalClasses = () => page.classes.length > 2;

// For several classes: the predicted one, plus the explained label if another class is explained; otherwise yes or no
// with the label.
function verdict(prediction, score, predicted = state.answer.class) {
  if (score !== undefined) return [minus(score.toFixed(4)), ""];
  if (severalClasses() && predicted !== undefined) {
    const name = minusNumbers(page.classes[predicted]);
    return [name, predicted === state.game.class ? "" : `, ${labelText(prediction)}`];
  }
  const text = labelText(prediction);
  return [text === String(prediction) ? text : `${prediction ? "Yes" : "No"}: ${text}`, ""];
}

function drawWords() {
  const { why, change } = state.words || {};
  say($("why"), why ? minusNumbers(why) : "");
  say($("change"), change ? minusNumbers(change) : "");
  $("change").hidden = change === null;
}

function drawPredicted() {
  const { class: predicted } = state.answer;
  const differs = answersAny() && severalClasses() && predicted !== undefined && predicted !== state.game.class;
  $("explain-predicted").hidden = !differs;
  if (differs) say($("explain-predicted"), `Explain ${page.classes[predicted]}, which is predicted`);
  for (const option of $("choose-class") ? $("choose-class").options : []) {
    const [number, shares] = [Number(option.value), page.shares];
    const share = shares ? ` (${percent(shares[number])} of rows)` : "";
    say(option, `${page.classes[number]}${number === predicted ? ", predicted" : ""}${share}`);
  }
}

const labelText = (bit) => minusNumbers(page.labels[bit] ?? String(bit));

// With several classes the page explains one: the prediction becomes whether it is that class.
function labelled(answer) {
  if (!("explained_value" in answer)) return { ...answer, class: answer.class ?? (severalClasses() ? undefined : answer.prediction) };
  return { ...answer, class: answer.prediction, prediction: answer.explained_value };
}

function truthText() {
  const { row, answer, words } = state;
  if (isChanged() || !row) {
    if (!rowCount() || !words || words.rows_alike === undefined) return "";
    const { rows_alike: alike } = words;
    return alike ? `${thousands(alike)} ${alike === 1 ? "row is" : "rows are"} like this` : "no row is like this";
  }
  if (row.known === null || row.known === undefined) return "";
  return row.known === answer.class ? "as in the data" : `wrong, in the data: ${minusNumbers(page.classes[row.known])}`;
}

function drawLabels() {
  const [one, zero] = $("legend").children;
  one.textContent = towards(1);
  zero.textContent = towards(0);
}

const towards = (bit) => (page.labels[bit] === String(bit) ? `pushes towards ${bit}` : `pushes towards ${labelText(bit)}`);

function buildChoices() {
  const { distributions, players, classes } = page.choices;
  const fields = [["class", "Explain", classes], ["distribution", "Compare with", distributions], ["players", "One bar per", players]];
  $("choices").replaceChildren(...fields.filter(([, , list]) => list.length > 1).map(([field, name, list]) => buildChoice(field, name, list)));
}

function buildChoice(field, name, list) {
  const words = (one) => (one.term && !one.term.startsWith(one.words) ? `${one.words} (${one.term})` : one.words);
  const select = el("select", { id: `choose-${field}` }, ...list.map((one) => el("option", { value: one.value, textContent: words(one) })));
  select.addEventListener("change", () => changeGame({ [field]: field === "class" ? Number(select.value) : select.value }));
  return el("label", {}, el("span", { className: "choice-name", textContent: name }), select);
}

// The last choice, even if the previous one has not been loaded yet.
let chosenGame = gameOf(page);
async function changeGame(change) {
  try {
    chosenGame = { ...chosenGame, ...change };
    markBusy(true);
    await loadGame(chosenGame);
    clearError();
    loadRows();
    await explain();
    loadFigures();
  } catch (error) {
    showError(error);
    if (error.name === "AbortError") return;
    chosenGame = { ...state.game };
  }
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

// While another game is computed, the page still shows the previous one: it is dimmed, and both are named.
function markBusy(busy) {
  for (const node of [$("outcome"), $("waterfall"), ...document.querySelectorAll("figure")]) {
    node.classList.toggle("stale", busy);
    node.setAttribute("aria-busy", busy);
  }
  $("progress").hidden = !busy;
  if (!busy) return;
  const text = `Computing: ${gameWords(chosenGame)}. Still shown, dimmed: ${gameWords(state.game)}.`;
  $("progress").replaceChildren(el("progress"), el("span", { textContent: text }));
  $("progress").firstChild.setAttribute("aria-label", "Computing");
}

function gameWords(game) {
  const { distributions, players, classes } = page.choices;
  const words = (list, value) => (list.find((one) => String(one.value) === String(value)) || { words: value }).words;
  const of = classes.length > 1 ? `${words(classes, game.class)}, ` : "";
  return `${of}compared with ${words(distributions, game.distribution)}, one bar per ${words(players, game.players)}`;
}
