// The boolshap page: shows one entity with its exact SHAP scores, the rows of the data, and the figures over all rows.
// It serves two masters: a report, where all answers are in the page's own JSON, and the live page, which asks the HTTP API.
"use strict";

(() => {
  const MOST_BARS = 20;
  const PAGE_ROWS = 50;
  const GAME = ["distribution", "players", "class"];
  const SVG = "http://www.w3.org/2000/svg";
  const $ = (id) => document.getElementById(id);

  let page = JSON.parse($("page-data").textContent);
  const live = page.live;
  const defaults = { ...page.game };

  // What the reader is looking at; everything else on the page follows from it.
  const state = {
    game: gameOf(page),
    row: null, // the chosen row of the data: {row, bits, cells, prediction, label}
    bits: page.features.map(() => 0),
    answer: { flips: [] }, // with the page it answers for
    showAll: false,
    query: { search: "", sort: "row", descending: false, offset: 0 },
    token: null,
  };

  // ---------------------------------------------------------------- words

  const minus = (text) => text.replace(/-/g, "\u2212");
  const playerWord = (n) => (page.game.players === "columns" ? (n === 1 ? "column" : "columns") : n === 1 ? "feature" : "features");

  function thousands(n) {
    return String(n).replace(/\B(?=(\d{3})+$)/g, ",");
  }

  function signed(score) {
    const digits = Math.abs(score).toFixed(4);
    return score > 0 ? `+${digits}` : score < 0 ? `\u2212${digits}` : digits;
  }

  // Whole numbers stay as they are, since rounding a year or an identifier would make it another one.
  function cellText(value) {
    if (value === null || value === undefined) return "";
    if (typeof value !== "number") return String(value);
    return minus(String(Number.isInteger(value) ? value : Number(value.toPrecision(6))));
  }

  function meaningOf(feature, bit) {
    const words = bit ? page.features[feature].one : page.features[feature].zero;
    return words === "0" || words === "1" ? `= ${words}` : minusNumbers(words);
  }

  // Only a sign before a digit is a minus; the hyphen in a name is not.
  function minusNumbers(words) {
    return words.replace(/(^|\s)-(?=[\d.])/g, "$1\u2212");
  }

  // ---------------------------------------------------------------- building elements

  function el(tag, properties = {}, ...children) {
    const node = Object.assign(document.createElement(tag), properties);
    node.append(...children);
    return node;
  }

  function svg(tag, attributes = {}, ...children) {
    const node = document.createElementNS(SVG, tag);
    set(node, attributes);
    node.append(...children);
    return node;
  }

  // Writes only what differs: a write alone already costs style and layout.
  function set(node, attributes) {
    for (const name in attributes) {
      const value = String(attributes[name]);
      if (node.getAttribute(name) !== value) node.setAttribute(name, value);
    }
  }

  function say(node, text) {
    if (node.textContent !== text) node.textContent = text;
  }

  // Lets long names break after their joints rather than anywhere.
  function breakable(name) {
    return (name.match(/[^_=./-]*[_=./-]*/g) || []).flatMap((part) => [part, el("wbr")]).slice(0, -1);
  }

  // Text measured on a canvas costs no layout of the page.
  const measure = (() => {
    const context = document.createElement("canvas").getContext("2d");
    const widths = new Map();
    return (text, size) => {
      const key = size + text;
      if (!widths.has(key)) {
        context.font = `${size}px ${getComputedStyle(document.body).fontFamily}`;
        widths.set(key, context.measureText(text).width);
      }
      return widths.get(key);
    };
  })();

  // Shortens in the middle, where long names tend to say the least.
  function shorten(text, width, size) {
    if (measure(text, size) <= width) return text;
    const letters = Array.from(text);
    let low = 1;
    let high = letters.length - 1;
    while (low < high) {
      const keep = (low + high + 1) >> 1;
      if (measure(cut(letters, keep), size) <= width) low = keep;
      else high = keep - 1;
    }
    return cut(letters, low);
  }

  function cut(letters, keep) {
    const head = Math.ceil(keep / 2);
    const tail = keep - head;
    return letters.slice(0, head).join("").trimEnd() + "…" + (tail ? letters.slice(-tail).join("").trimStart() : "");
  }

  // ---------------------------------------------------------------- asking

  function gameOf(data) {
    const { distribution, players } = data.game;
    return { distribution, players, class: data.game.class };
  }

  function gameQuery(game) {
    const query = new URLSearchParams({ distribution: game.distribution, players: game.players });
    if (game.class !== null && game.class !== undefined) query.set("class", game.class);
    return query;
  }

  async function ask(path, signal, body) {
    const headers = state.token ? { Authorization: `Bearer ${state.token}` } : {};
    if (body) headers["Content-Type"] = "application/json";
    let response;
    try {
      response = await fetch(path, { method: body ? "POST" : "GET", headers, signal, body: body && JSON.stringify(body) });
    } catch (error) {
      if (error.name === "AbortError") throw error;
      throw new Error("The server does not answer. Is boolshap serve still running?");
    }
    const value = await response.json().catch((error) => {
      if (error.name === "AbortError") throw error;
      return {};
    });
    if (!response.ok) throw new Error(value.error ? value.error.message : `The server answered with status ${response.status}.`);
    return value;
  }

  // Of several questions of one sort only the newest counts: asking again gives up the one before.
  function latest() {
    let current = null;
    return () => {
      if (current) current.abort();
      current = new AbortController();
      return current.signal;
    };
  }
  const explaining = latest();
  const choosing = latest();
  const listing = latest();
  const changing = latest();

  function showError(error) {
    if (error.name === "AbortError") return;
    $("error").textContent = error.message;
    $("error").hidden = false;
  }

  function clearError() {
    $("error").hidden = true;
    $("error").textContent = "";
  }

  // ---------------------------------------------------------------- the data of a report

  const report = live || !page.kinds ? null : reportOf(page);

  function reportOf({ kinds, table, players }) {
    const bytes = Uint8Array.from(atob(kinds.scores), (letter) => letter.charCodeAt(0));
    const view = new DataView(bytes.buffer);
    const scores = Float64Array.from({ length: bytes.length / 8 }, (_, i) => view.getFloat64(8 * i, true));
    const kindOf = new Map(kinds.bits.map((bits, kind) => [bits, kind]));
    const count = table ? table.shown : 0;
    let texts = null;

    const answer = (bits) => {
      const kind = kindOf.get(bits.join(""));
      if (kind === undefined) return null;
      return { prediction: kinds.prediction[kind], scores: scores.subarray(kind * players.length, (kind + 1) * players.length), flips: [] };
    };

    const row = (index) => ({
      row: index + 1,
      bits: bitsOf(kinds.bits[table.kind[index]]),
      cells: table.columns.map((column) => column.cells[index]),
      prediction: kinds.prediction[table.kind[index]],
      label: table.label ? table.label[index] : null,
    });

    // Made at the first search only, so that opening stays quick.
    const textOf = (index) => {
      texts = texts || Array.from({ length: count }, (_, i) => table.columns.map((column) => String(column.cells[i] ?? "")).join("\n").toLowerCase());
      return texts[index];
    };

    const keyOf = (sort) => {
      if (sort === "prediction") return (index) => kinds.prediction[table.kind[index]];
      if (sort === "label") return (index) => table.label[index];
      const column = table.columns.find((one) => one.name === sort);
      return column ? (index) => column.cells[index] : (index) => index;
    };

    const list = ({ search, sort, descending, offset }) => {
      const wanted = search.trim().toLowerCase().replace(/\u2212/g, "-");
      let found = Array.from({ length: count }, (_, i) => i);
      if (wanted) found = found.filter((index) => textOf(index).includes(wanted));
      if (sort !== "row" || descending) found.sort(comparison(keyOf(sort), descending));
      return { total: found.length, offset, rows: found.slice(offset, offset + PAGE_ROWS).map(row), columns: table.columns };
    };
    return { answer, row, list, count, kindOf };
  }

  // Missing cells come last in either direction.
  function comparison(key, descending) {
    const sign = descending ? -1 : 1;
    return (a, b) => {
      const x = key(a);
      const y = key(b);
      if (x === y) return a - b;
      if (x === null || x === undefined) return 1;
      if (y === null || y === undefined) return -1;
      if (typeof x === "number" && typeof y === "number") return sign * (x - y) || a - b;
      return String(x) < String(y) ? -sign : String(x) > String(y) ? sign : a - b;
    };
  }

  function bitsOf(text) {
    return Array.from(text, Number);
  }

  const rowCount = () => (live ? page.rows : report ? report.count : 0);

  const isRow = (number) => Number.isInteger(number) && number >= 1 && number <= rowCount();

  async function fetchRow(number) {
    if (!isRow(number)) throw new Error(`There is no row ${number} here; the last is row ${thousands(rowCount())}.`);
    if (!live) return report.row(number - 1);
    const query = gameQuery(state.game);
    query.set("offset", number - 1);
    query.set("limit", 1);
    const { rows, columns } = await ask(`api/rows?${query}`, choosing());
    return { ...rows[0], bits: bitsOf(rows[0].bits), columns };
  }

  // ---------------------------------------------------------------- the entity and its switches

  const switches = []; // by feature: the parts that change

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
    const button = el("button", { type: "button", className: "switch", disabled: !live, title: short ? full : "" },
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

  // The value in the data, as long as the switch still stands where the data put it, and only if it says more than the switch.
  function rawValue(feature) {
    const { row, bits } = state;
    const { column } = switches[feature];
    if (!row || column.one_hot || row.bits[feature] !== bits[feature]) return "";
    const names = row.columns || page.table.columns;
    const index = names.findIndex((one) => one.name === column.name);
    const raw = index < 0 ? "" : cellText(row.cells[index]);
    return raw === String(bits[feature]) ? "" : raw;
  }

  function isChanged() {
    const start = state.row ? state.row.bits : null;
    return state.bits.some((bit, feature) => bit !== (start ? start[feature] : 0));
  }

  function drawSource() {
    const { row } = state;
    const changed = isChanged();
    say($("source"), row ? `Row ${thousands(row.row)}${changed ? ", changed" : ""}` : live ? "An input of your own" : "One input");
    $("undo").disabled = !changed || !live;
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

  function toggle(feature, start) {
    const on = 1 - state.bits[feature];
    const { column } = switches[feature];
    if (on && column.one_hot) for (const sibling of column.features) state.bits[sibling] = 0;
    state.bits[feature] = on;
    explain(start);
    drawSwitches();
  }

  // Shows the answer for the bits as they stand; `start` is when the reader asked, for the measurement.
  async function explain(start) {
    writeAddress();
    if (!live) return showReportAnswer();
    const body = { entities: [state.bits], distribution: state.game.distribution, players: state.game.players, flips: true };
    if (state.game.class !== null && state.game.class !== undefined) body.class = state.game.class;
    try {
      const { base_value, explanations } = await ask("api/explain", explaining(), body);
      page.base_value = base_value;
      showAnswer(explanations[0]);
      clearError();
      if (start !== undefined) recordSwitch(start);
    } catch (error) {
      if (error.name === "AbortError") return;
      dim(true);
      showError(error);
    }
  }

  function showReportAnswer() {
    const answer = report && report.answer(state.bits);
    if (answer) showAnswer(answer);
    else if (report) showError(new Error("This report holds no scores for these bits; boolshap serve can explain any input."));
    dim(!answer);
  }

  function showAnswer(answer) {
    state.answer = { flips: [], ...answer, page };
    dim(false);
    drawOutcome();
    drawWaterfall(isCalm());
    drawFlips();
  }

  // Movement is for one look at a time; in quick succession it would only hold up the next drawing.
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

  // The frame is on the screen once a task after its animation frame runs.
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
    state.bits = state.row ? [...state.row.bits] : page.features.map(() => 0);
    drawSwitches();
    explain();
    if (state.row) $("row-next").focus();
  }

  // ---------------------------------------------------------------- the outcome

  function drawOutcome() {
    const { prediction } = state.answer;
    say($("prediction").firstElementChild, labelText(prediction));
    say($("prediction").lastElementChild, labelText(prediction) === String(prediction) ? "" : ` ${prediction}`);
    set($("prediction"), { "data-prediction": prediction });
    set($("outcome"), { "data-prediction": prediction });
    say($("base-value"), minus(page.base_value.toFixed(4)));
    set($("base-value"), { "data-value": page.base_value });
    say($("truth"), truthText(prediction));
  }

  const labelText = (bit) => minusNumbers(page.labels[bit] ?? String(bit));

  // With several classes a row's label names a class, not this yes or no.
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

  // ---------------------------------------------------------------- the waterfall

  const chart = { page: null, svg: null, grid: null, base: null, end: null, rest: null, rows: [], bars: new Map(), width: 0, gridKey: "" };

  function buildWaterfall() {
    chart.grid = svg("g", { "aria-hidden": "true" });
    chart.base = buildRow("end base", "row-base");
    chart.end = buildRow("end", "row-end");
    chart.rest = buildRow("rest", "row-rest");
    chart.svg = svg("svg", { role: "list", "aria-label": "Waterfall from the base value to the prediction" }, chart.grid, chart.base.g, chart.end.g);
    $("waterfall").replaceChildren(chart.svg);
    chart.width = $("waterfall").clientWidth;
    chart.bars.clear();
    chart.gridKey = "";
    chart.page = page;
  }

  function buildRow(kind, id) {
    const parts = {
      hit: svg("rect", { class: "hit", x: -8, y: 0, rx: 4 }),
      name: svg("text", { x: 0 }),
      meaning: svg("text", { class: "meaning" }),
      link: svg("rect", { class: "link", width: 1 }),
      amount: kind.startsWith("end") ? svg("circle", { class: "marker", r: 4.5 }) : svg("rect", { class: "amount", rx: 2 }),
      score: svg("text", { class: "score" }),
    };
    const g = svg("g", { class: `row ${kind}`, id, role: "listitem" }, ...Object.values(parts));
    return { ...parts, g, kind, key: "" };
  }

  function barOf(player) {
    if (!chart.bars.has(player)) {
      const bar = buildRow("bar", `row-${player}`);
      bar.g.dataset.player = player;
      chart.bars.set(player, bar);
    }
    return chart.bars.get(player);
  }

  // On a narrow page the labels go above the bars, which then have the whole width.
  function placesFor(width) {
    if (width < 500) return { width, narrow: true, row: 46, bar: 12, barTop: 25, textTop: 17, left: 1, right: width - 1, label: width - 74 };
    const label = Math.min(270, Math.round(width * 0.37));
    return { width, narrow: false, row: 38, bar: 18, barTop: 10, textTop: 16, left: label + 20, right: width - 84, label };
  }

  function ranked(scores) {
    return Array.from(scores, (_, player) => player).sort((a, b) => Math.abs(scores[b]) - Math.abs(scores[a]) || a - b);
  }

  function drawWaterfall(moving) {
    const { scores } = state.answer;
    if (state.answer.page !== page) return; // an answer of another game; its picture stays as it is
    if (chart.page !== page) buildWaterfall();
    const order = ranked(scores);
    const shown = state.showAll ? order : order.slice(0, MOST_BARS);
    const hidden = order.slice(shown.length);
    const items = shown.map((player) => ({ bar: barOf(player), score: scores[player], ...playerLabel(player) }));
    if (hidden.length) items.push({ bar: chart.rest, score: hidden.reduce((sum, player) => sum + scores[player], 0), name: `${hidden.length} other ${playerWord(hidden.length)}`, meaning: "summed" });

    const places = placesFor(chart.width);
    const scale = scaleFor(items, places);
    chart.svg.classList.toggle("moving", moving);
    chart.svg.classList.toggle("narrow", places.narrow);
    drawGrid(places, scale, items.length);
    drawEnd(chart.base, places, scale, 0, "Base value", page.base_value, page.base_value.toFixed(4));
    let from = page.base_value;
    items.forEach((item, index) => {
      drawBar(item, places, scale, index + 1, from);
      from += item.score;
    });
    drawEnd(chart.end, places, scale, items.length + 1, "Prediction", state.answer.prediction, String(state.answer.prediction));
    keepOnly(items);
    drawShowAll(order.length);
    const done = document.documentElement.dataset;
    done.updates = String(Number(done.updates || 0) + 1);
  }

  // Always from 0 to 1 and wider only if need be, so that the picture holds still.
  function scaleFor(items, { left, right }) {
    let [low, high, value] = [Math.min(0, page.base_value), Math.max(1, page.base_value), page.base_value];
    for (const { score } of items) {
      value += score;
      low = Math.min(low, value);
      high = Math.max(high, value);
    }
    if (low > -1e-9) low = 0;
    if (high < 1 + 1e-9) high = 1;
    const x = (v) => left + ((v - low) / (high - low)) * (right - left);
    return { low, high, x };
  }

  function drawGrid({ row, left, right, narrow }, { low, high, x }, count) {
    const height = AXIS + (count + 2) * row;
    const key = [low, high, left, right, height, page.base_value].join();
    if (key === chart.gridKey) return;
    chart.gridKey = key;
    set(chart.svg, { height, width: chart.width });
    const step = [0.25, 0.5, 1, 2, 5, 10, 20].find((one) => (high - low) / one <= (narrow ? 5 : 8)) || 50;
    const marks = [];
    for (let i = Math.ceil(low / step); i * step <= high + 1e-9; i++) {
      const at = Math.round(x(i * step)) + 0.5;
      const anchor = narrow && at < 12 ? "start" : narrow && at > right - 12 ? "end" : "middle";
      const label = svg("text", { class: "tick", x: at, y: 12, "text-anchor": anchor }, minus(String(i * step)));
      marks.push(svg("line", { class: "gridline", x1: at, x2: at, y1: AXIS - 2, y2: height }), label);
    }
    const base = Math.round(x(page.base_value)) + 0.5;
    marks.push(svg("line", { class: "from-base", x1: base, x2: base, y1: AXIS + row / 2, y2: height - row / 2 }));
    chart.grid.replaceChildren(...marks);
  }
  const AXIS = 22;

  function drawBar({ bar, score, name, meaning }, places, scale, index, from) {
    const [a, b] = [scale.x(from), scale.x(from + score)];
    const direction = score > 0 ? " up" : score < 0 ? " down" : "";
    set(bar.g, { class: `row ${bar.kind}${direction}`, "data-score": String(score) });
    set(bar.amount, { x: Math.min(a, b, (a + b) / 2 - 1), width: Math.max(2, Math.abs(b - a)), y: places.barTop, height: places.bar });
    set(bar.link, { x: b - 0.5, y: places.barTop + places.bar, height: places.row - places.bar });
    drawText(bar, places, name, meaning, signed(score));
    place(bar, places, index);
  }

  function drawEnd(end, places, scale, index, name, value, text) {
    const at = scale.x(value);
    const middle = places.barTop + places.bar / 2;
    set(end.amount, { cx: at, cy: middle });
    set(end.link, { x: at - 0.5, y: middle, height: end === chart.base ? places.row - places.bar / 2 : 0 });
    drawText(end, places, name, "", text);
    place(end, places, index);
  }

  function place(row, places, index) {
    const y = AXIS + index * places.row;
    if (row.y !== y) row.g.style.transform = `translate(0, ${(row.y = y)}px)`;
    if (!row.g.isConnected) chart.svg.append(row.g);
  }

  // Most switches leave most labels alone; the key saves measuring and writing them again.
  function drawText(row, places, name, meaning, score) {
    const key = [name, meaning, score, places.width].join("\n");
    if (key === row.key) return;
    row.key = key;
    const { narrow, textTop, label } = places;
    const middle = places.row / 2 + 4.5;
    const inline = narrow ? Math.min(measure(meaning, 12), label * 0.45) : 0;
    say(row.name, shorten(name, label - (inline ? inline + 8 : 0), 13));
    say(row.meaning, shorten(meaning, narrow ? inline + 1 : label, 12));
    say(row.score, score);
    set(row.name, { y: meaning || narrow ? textTop : middle });
    set(row.meaning, narrow ? { x: measure(row.name.textContent, 13) + 8, y: textTop } : { x: 0, y: textTop + 15 });
    set(row.score, { x: places.width, y: narrow ? textTop : middle });
    set(row.hit, { width: places.width + 16, height: places.row });
    const words = meaning ? `${name}, ${meaning}: ${score}` : `${name}: ${score}`;
    set(row.g, { "aria-label": words, "data-tip": words });
  }

  // Screen readers follow aria-owns, so the bars need not change places in the document, which would stop their movement.
  function keepOnly(items) {
    const kept = new Set(items.map((item) => item.bar));
    for (const bar of [...chart.bars.values(), chart.rest]) {
      if (kept.has(bar) || !bar.g.isConnected) continue;
      bar.g.setAttribute("tabindex", "-1");
      bar.g.remove();
    }
    if (!chart.svg.querySelector("[tabindex='0']")) chart.base.g.setAttribute("tabindex", "0");
    const rows = [chart.base, ...items.map((item) => item.bar), chart.end].map((row) => row.g);
    set(chart.svg, { "aria-owns": rows.map((g) => g.id).join(" ") });
    chart.rows = rows;
  }

  function drawShowAll(count) {
    const button = $("show-all");
    button.hidden = count <= MOST_BARS;
    say(button, state.showAll ? `Show only the ${MOST_BARS} strongest` : `Show all ${thousands(count)} ${playerWord(count)}`);
    $("result").classList.toggle("all", state.showAll && count > MOST_BARS);
  }

  // A player that is a column is called by its column and says what its ones mean.
  let featuresOf = [];
  function gatherPlayers() {
    featuresOf = page.players.map(() => []);
    page.player_of.forEach((player, feature) => featuresOf[player].push(feature));
  }

  function playerLabel(player) {
    const features = featuresOf[player];
    const ones = features.filter((feature) => state.bits[feature]);
    const said = features.length === 1 ? features : ones;
    return { name: page.players[player], meaning: said.map((feature) => meaningOf(feature, state.bits[feature])).join(", ") || "none of its values" };
  }

  // ---------------------------------------------------------------- choices of the game (live)

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

  async function changeGame(change) {
    const busy = setTimeout(() => markBusy(true), 150); // most answers come before a dimmed page would be of use
    try {
      await loadGame({ ...state.game, ...change });
      clearError();
      loadRows();
      await explain();
    } catch (error) {
      showError(error);
      if (error.name === "AbortError") return clearTimeout(busy);
    }
    clearTimeout(busy);
    markBusy(false);
    drawChoices();
  }

  async function loadGame(game) {
    page = await ask(`api/page?${gameQuery(game)}`, changing());
    state.game = gameOf(page);
    drawGame();
  }

  // Puts the selects back to the game that is on the page, without taking the focus away.
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

  // ---------------------------------------------------------------- rows

  function buildRows() {
    if (!rowCount()) return;
    $("rows").hidden = false;
    const { shown } = page.table || { shown: page.rows };
    if (shown < page.rows) {
      $("rows-note").textContent = `The first ${thousands(shown)} of ${thousands(page.rows)} rows are here.`;
      $("rows-note").hidden = false;
    }
    let wait = 0;
    $("search").addEventListener("input", () => {
      clearTimeout(wait);
      wait = setTimeout(() => changeQuery({ search: $("search").value, offset: 0 }), live ? 120 : 60);
    });
    $("rows-previous").addEventListener("click", () => changeQuery({ offset: Math.max(0, state.query.offset - PAGE_ROWS) }));
    $("rows-next").addEventListener("click", () => changeQuery({ offset: state.query.offset + PAGE_ROWS }));
    rowsBody().addEventListener("click", (event) => {
      const line = event.target.closest("tr");
      if (line && !String(getSelection())) chooseAndShow(Number(line.dataset.row));
    });
  }

  const rowsBody = () => $("rows-table").tBodies[0];

  function changeQuery(change) {
    Object.assign(state.query, change);
    return loadRows();
  }

  async function loadRows() {
    if (!rowCount()) return;
    try {
      drawRows(live ? await askRows() : report.list(state.query));
    } catch (error) {
      showError(error);
    }
  }

  async function askRows() {
    const { search, sort, descending, offset } = state.query;
    const query = gameQuery(state.game);
    for (const [name, value] of Object.entries({ offset, limit: PAGE_ROWS, search, sort, descending })) if (value !== "") query.set(name, value);
    return ask(`api/rows?${query}`, listing());
  }

  function drawRows({ total, offset, rows, columns }) {
    const labelled = rows.some((row) => row.label !== null && row.label !== undefined) || Boolean($("rows-table").querySelector("[data-sort=label]"));
    const heads = [{ name: "row", words: "Row", numeric: true }, { name: "prediction", words: "Prediction" }];
    if (labelled) heads.push({ name: "label", words: "Label" });
    drawHeads([...heads, ...columns.map(({ name, numeric }) => ({ name, numeric, words: name }))]);
    rowsBody().replaceChildren(...rows.map((row) => buildLine(row, columns, labelled)));
    const found = state.query.search.trim() ? " found" : "";
    $("rows-status").textContent = total ? `${thousands(offset + 1)}–${thousands(offset + rows.length)} of ${thousands(total)}${found}` : "No row matches";
    $("rows-previous").disabled = offset === 0;
    $("rows-next").disabled = offset + rows.length >= total;
    markRow();
  }

  // Kept while the columns stay the same, so that a sorted header keeps the focus.
  function drawHeads(heads) {
    const table = $("rows-table");
    const key = heads.map((head) => head.name).join("\n");
    if (table.dataset.heads !== key) {
      table.dataset.heads = key;
      table.tHead.replaceChildren(el("tr", {}, ...heads.map(buildHead)));
    }
    for (const cell of table.tHead.rows[0].cells) {
      const sorted = cell.dataset.sort === state.query.sort;
      cell.setAttribute("aria-sort", !sorted ? "none" : state.query.descending ? "descending" : "ascending");
    }
  }

  function buildHead({ name, words, numeric }) {
    const button = el("button", { type: "button", textContent: words, title: words });
    button.addEventListener("click", () => changeQuery({ sort: name, descending: state.query.sort === name && !state.query.descending, offset: 0 }));
    const cell = el("th", { scope: "col", className: numeric ? "number" : "" }, button);
    cell.dataset.sort = name;
    return cell;
  }

  function buildLine(row, columns, labelled) {
    const choose = el("button", { type: "button", className: "quiet", textContent: row.row });
    choose.setAttribute("aria-label", `Show row ${row.row}`);
    const line = el("tr", {}, el("td", { className: "number" }, choose), classCell(row.prediction));
    line.dataset.row = row.row;
    if (labelled) line.append(classCell(row.label));
    columns.forEach((column, i) => {
      const text = cellText(row.cells[i]);
      line.append(el("td", { className: column.numeric ? "number" : "", textContent: text, title: text.length > 30 ? text : "" }));
    });
    return line;
  }

  function classCell(value) {
    if (value === null || value === undefined) return el("td");
    return el("td", { className: `class is-${value}`, textContent: value, title: page.choices.classes.length ? "" : labelText(value) });
  }

  function markRow() {
    const number = state.row ? String(state.row.row) : "";
    for (const line of rowsBody().rows) {
      if (line.dataset.row === number) line.setAttribute("aria-current", "true");
      else line.removeAttribute("aria-current");
    }
  }

  async function chooseAndShow(number) {
    await chooseRow(number);
    const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
    $("entity").scrollIntoView({ behavior: calm ? "auto" : "smooth", block: "start" });
  }

  // ---------------------------------------------------------------- figures

  const CAPTIONS = {
    importance: ["Importance", () => `The mean absolute score of each ${playerWord(1)} over all rows: the longer the bar, the more it moves decisions.`],
    beeswarm: ["Scores of all rows", () => `Each dot is a row, or several alike; to the right it pushes towards 1, to the left towards 0. Choose a dot to see its row above.`],
    interactions: ["Interactions", () => `How much two ${playerWord(2)} matter together, beyond what each does on its own.`],
    timing: ["", () => "How long the exact scores take."],
    circuit: ["", () => "The compiled circuit the scores are computed from."],
  };

  function drawFigures() {
    for (const name of Object.keys(CAPTIONS)) drawFigure(name, page.figures[name]);
    $("all").hidden = !["importance", "beeswarm", "interactions"].some((name) => page.figures[name]);
    for (const name of ["timing", "circuit"]) $(name).closest("section").hidden = !page.figures[name];
  }

  function drawFigure(name, source) {
    const figure = $(name);
    figure.hidden = !source;
    if (!source) return figure.replaceChildren();
    const [heading, words] = CAPTIONS[name];
    const note = (page.notes || {})[name];
    const caption = el("figcaption", {}, ...(heading ? [el("h3", { textContent: heading })] : []), note ? `${words()} ${asSentence(note)}` : words());
    const drawing = document.importNode(new DOMParser().parseFromString(source, "image/svg+xml").documentElement, true);
    const frame = el("div", { className: "figure" }, drawing);
    figure.replaceChildren(caption, frame);
    prepareTips(frame, drawing);
  }

  function asSentence(note) {
    const text = note.charAt(0).toUpperCase() + note.slice(1);
    return /[.!?]$/.test(text) ? text : `${text}.`;
  }

  // One tab stop a figure; the arrow keys go on from there. A thousand dots would be a thousand tab stops.
  function prepareTips(frame, drawing) {
    const tips = drawing.querySelectorAll("[data-tip]");
    drawing.querySelectorAll("[tabindex]").forEach((node) => node.setAttribute("tabindex", "-1"));
    if (!tips.length) return;
    drawing.setAttribute("role", "group");
    makeReachable(tips[0]);
  }

  function makeReachable(node) {
    node.setAttribute("tabindex", "0");
    if (node.getAttribute("role") === "listitem") return;
    node.setAttribute("role", node.dataset.row ? "button" : "img");
    node.setAttribute("aria-label", node.dataset.tip);
  }

  // ---------------------------------------------------------------- tooltips

  function showTip(node, x) {
    const tip = $("tip");
    tip.textContent = node.dataset.tip;
    tip.hidden = false;
    const box = node.getBoundingClientRect();
    const { width, height } = tip.getBoundingClientRect();
    const left = Math.min(Math.max(8, (x ?? box.left + box.width / 2) - width / 2), innerWidth - width - 8);
    const top = box.top > height + 12 ? box.top - height - 6 : box.bottom + 6;
    tip.style.transform = `translate(${Math.round(left)}px, ${Math.round(top)}px)`;
  }

  function hideTip() {
    $("tip").hidden = true;
  }

  function tipUnder(event) {
    return event.target instanceof Element ? event.target.closest("svg [data-tip]") : null;
  }

  // In the waterfall the order on the screen differs from the order in the document.
  function tipsAround(node) {
    if (chart.svg && chart.svg.contains(node)) return chart.rows;
    return Array.from(node.ownerSVGElement.querySelectorAll("[data-tip]"));
  }

  function moveTip(node, key) {
    const all = tipsAround(node);
    const at = all.indexOf(node);
    const steps = { ArrowRight: at + 1, ArrowDown: at + 1, ArrowLeft: at - 1, ArrowUp: at - 1, Home: 0, End: all.length - 1 };
    const next = all[steps[key]];
    if (!next) return;
    node.setAttribute("tabindex", "-1");
    makeReachable(next);
    next.focus();
  }

  function onTipKey(event) {
    if (event.key === "Escape") return hideTip();
    const node = tipUnder(event);
    if (!node) return;
    if (/^(Arrow|Home|End)/.test(event.key)) moveTip(node, event.key);
    else if ((event.key === "Enter" || event.key === " ") && node.dataset.row) chooseAndShow(Number(node.dataset.row));
    else return;
    event.preventDefault();
  }

  function listenForTips() {
    document.addEventListener("pointerover", (event) => {
      const node = tipUnder(event);
      if (node) showTip(node, event.clientX);
      else hideTip();
    });
    document.addEventListener("focusin", (event) => {
      const node = tipUnder(event);
      if (node && node.matches(":focus-visible")) showTip(node);
    });
    document.addEventListener("focusout", hideTip);
    document.addEventListener("scroll", hideTip, { passive: true, capture: true });
    document.addEventListener("keydown", onTipKey);
    document.addEventListener("click", (event) => {
      const dot = event.target.closest(".figure svg [data-row]");
      if (dot) chooseAndShow(Number(dot.dataset.row));
    });
  }

  // ---------------------------------------------------------------- the address

  let written = null;
  let writing = 0;

  // A moment later and once for many switches: browsers refuse addresses that change too often.
  function writeAddress() {
    clearTimeout(writing);
    writing = setTimeout(() => {
      const text = addressOf().toString();
      if (text === written) return;
      written = text;
      try {
        history.replaceState(null, "", text ? `#${text}` : location.pathname + location.search);
      } catch {
        // Some browsers forbid it for files; the page works all the same.
      }
    }, 100);
  }

  function addressOf() {
    const parts = new URLSearchParams();
    if (state.token) parts.set("token", state.token);
    if (state.row && state.row.row !== 1) parts.set("row", state.row.row);
    if (isChanged()) parts.set("bits", state.bits.join(""));
    for (const field of GAME) if (state.game[field] !== defaults[field]) parts.set(field, state.game[field]);
    return parts;
  }

  async function readAddress() {
    const text = location.hash.slice(1);
    written = text;
    const parts = new URLSearchParams(text);
    state.token = parts.get("token") || state.token;
    if (live) await restoreGame(parts);
    const wanted = parts.get("bits");
    const bits = wanted !== null && wanted.length === page.features.length && /^[01]+$/.test(wanted) ? bitsOf(wanted) : null;
    const row = parts.has("row") ? Number(parts.get("row")) : 1;
    state.row = null;
    if (rowCount()) await chooseRow(isRow(row) ? row : 1, bits);
    if (!state.row) await chooseBits(bits);
    if (wanted !== null && !bits) showError(new Error(`The bits in the address should be ${page.features.length} zeros and ones.`));
    if (parts.has("row") && !isRow(row)) showError(new Error(`There is no row ${parts.get("row")} here.`));
  }

  // Without a row: the bits of the address, or all off, or what a report without a table knows.
  function chooseBits(bits) {
    const known = report && page.kinds.bits.length ? bitsOf(page.kinds.bits[0]) : page.features.map(() => 0);
    state.bits = bits || known;
    drawSwitches();
    return explain();
  }

  async function restoreGame(parts) {
    const game = gameOf({ game: defaults });
    for (const field of GAME) if (parts.has(field)) game[field] = field === "class" ? Number(parts.get(field)) : parts.get(field);
    if (GAME.every((field) => game[field] === state.game[field])) return;
    try {
      await loadGame(game);
    } catch (error) {
      showError(error);
    }
    drawChoices();
  }

  // ---------------------------------------------------------------- starting

  function drawGame() {
    gatherPlayers();
    drawLabels();
    drawFigures();
    $("title").textContent = page.title;
    $("words").replaceChildren(...page.game.words.map((words) => el("p", { textContent: words })));
    $("facts").replaceChildren(...page.facts.map(([name, text]) => el("div", {}, el("dt", { textContent: name }), el("dd", { textContent: text }))));
  }

  function listen() {
    $("switches").addEventListener("click", (event) => {
      const button = event.target.closest("[role=switch]");
      if (button && live) toggle(Number(button.dataset.feature), event.timeStamp);
    });
    $("undo").addEventListener("click", undo);
    $("row-previous").addEventListener("click", () => chooseRow(state.row.row - 1));
    $("row-next").addEventListener("click", () => chooseRow(state.row.row + 1));
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
    }).observe($("waterfall"));
  }

  async function begin() {
    buildSwitches();
    buildRows();
    buildChoices();
    drawChoices();
    drawGame();
    $("steps").hidden = !rowCount();
    $("undo").hidden = !live;
    $("fixed-hint").hidden = live || rowCount() < 2;
    listen();
    listenForTips();
    await readAddress();
    await loadRows();
    document.documentElement.dataset.ready = "1";
  }

  begin();
})();
