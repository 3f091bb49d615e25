// The waterfall: from the base value, player by player, to the decision.

const chart = { page: null, svg: null, grid: null, base: null, end: null, rest: null, rows: [], bars: new Map(), width: 0, gridKey: "", low: 0, high: 1 };

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
  [chart.low, chart.high] = [0, 1];
  chart.page = page;
}

function buildRow(kind, id) {
  const parts = {
    hit: svg("rect", { class: "hit", x: -8, y: 0, rx: 4 }),
    name: svg("text", { class: "player", x: 0 }),
    more: svg("text", { class: "player", x: 0 }),
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

// On a narrow page the labels go above the bars, which then take the full width.
function placesFor(width, names) {
  if (width < 500) return { width, narrow: true, row: 46, bar: 12, barTop: 25, textTop: 17, left: 1, right: width - 1, label: width - 74, lines: 1 };
  const label = Math.min(270, Math.round(width * 0.37));
  // Names that are too long take two lines.
  const lines = names.some((name) => measure(name, 12) > label) ? 2 : 1;
  const more = 14 * (lines - 1);
  return { width, narrow: false, row: 38 + more, bar: 18, barTop: 10 + more / 2, textTop: 15, left: label + 20, right: width - 84, label, lines };
}

// The number of bars shown at first: few on a phone, where the switches are below.
const mostBars = () => (chart.width < 500 ? 6 : MOST_BARS);

function ranked(scores) {
  return Array.from(scores, (_, player) => player).sort((a, b) => Math.abs(scores[b]) - Math.abs(scores[a]) || a - b);
}

function drawWaterfall(moving) {
  const { scores } = state.answer;
  if (state.answer.page !== page) return; // an answer for another game: keep its drawing
  const isNew = chart.page !== page;
  if (isNew) buildWaterfall();
  const order = ranked(scores);
  const most = order.length === mostBars() + 1 ? order.length : mostBars();
  const shown = state.showAll ? order : order.slice(0, most);
  const hidden = order.slice(shown.length);
  const items = shown.map((player) => ({ bar: barOf(player), score: scores[player], ...playerLabel(player) }));
  if (hidden.length) items.push(restOf(hidden, scores));

  const places = placesFor(chart.width, items.map((item) => item.name));
  const scale = scaleFor(items, places);
  chart.svg.classList.toggle("moving", moving && !isNew); // a new chart has no positions to move from
  chart.svg.classList.toggle("narrow", places.narrow);
  drawGrid(places, scale, items.length);
  drawEnd(chart.base, places, scale, 0, "Average (base value)", page.base_value, page.base_value.toFixed(4));
  let from = page.base_value;
  items.forEach((item, index) => {
    drawBar(item, places, scale, index + 1, from);
    from += item.score;
  });
  const score = scoreOf(state.answer);
  const end = score ?? state.answer.prediction;
  drawEnd(chart.end, places, scale, items.length + 1, score === undefined ? "Decision" : "Score", end, score === undefined ? String(end) : score.toFixed(4));
  keepOnly(items);
  drawShowAll(order.length);
  const done = document.documentElement.dataset;
  done.updates = String(Number(done.updates || 0) + 1);
}

// The players not shown one by one appear as one bar, labelled as their sum.
function restOf(hidden, scores) {
  const largest = Math.abs(scores[hidden[0]]);
  return { bar: chart.rest, score: hidden.reduce((sum, player) => sum + scores[player], 0), name: `${hidden.length} other ${playerWord(hidden.length)}`, meaning: `their sum; each at most ${largest.toFixed(4)}` };
}

// From 0 to 1 and wider if necessary, in quarters; within a game it never shrinks, so that a switch does not move the axis.
function scaleFor(items, { left, right }) {
  let [low, high, value] = [Math.min(0, page.base_value), Math.max(1, page.base_value), page.base_value];
  for (const { score } of items) {
    value += score;
    low = Math.min(low, value);
    high = Math.max(high, value);
  }
  chart.low = low = Math.min(chart.low, Math.floor(4 * low + 1e-6) / 4);
  chart.high = high = Math.max(chart.high, Math.ceil(4 * high - 1e-6) / 4);
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
  const needed = bar.g.dataset.player !== undefined && isNeeded(Number(bar.g.dataset.player)) ? " needed" : "";
  set(bar.g, { class: `row ${bar.kind}${direction}${needed}`, "data-score": String(score) });
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

// Most switches change few labels; the key avoids measuring and writing the others again.
function drawText(row, places, name, meaning, score) {
  const key = [name, meaning, score, places.width].join("\n");
  if (key === row.key) return;
  row.key = key;
  const { narrow, textTop, label } = places;
  const middle = places.row / 2 + 4.5;
  const inline = narrow ? Math.min(measure(meaning, 13), label * 0.55) : 0;
  const [first, second] = !narrow && places.lines > 1 ? twoLines(name, label, 12) : [shorten(name, label - (inline ? inline + 8 : 0), 12), ""];
  say(row.name, first);
  say(row.more, second);
  say(row.meaning, shorten(meaning, narrow ? inline + 1 : label, 13));
  say(row.score, score);
  const top = textTop + (places.lines > 1 && !second ? 7 : 0);
  set(row.name, { y: meaning || narrow ? top : middle });
  set(row.more, { y: top + 14 });
  set(row.meaning, narrow ? { x: measure(row.name.textContent, 12) + 8, y: textTop } : { x: 0, y: top + (second ? 30 : 16) });
  set(row.score, { x: places.width, y: narrow ? textTop : middle });
  set(row.hit, { width: places.width + 16, height: places.row });
  const words = meaning ? `${name}, ${meaning}: ${score}` : `${name}: ${score}`;
  set(row.g, { "aria-label": words, "data-tip": words });
}

// Screen readers follow aria-owns, so the bars need not be reordered in the document, which would stop their animation.
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
  button.hidden = count <= mostBars() + 1;
  say(button, state.showAll ? `Show only the ${mostBars()} strongest` : `Show all ${thousands(count)} ${playerWord(count)}`);
  $("result").classList.toggle("all", state.showAll && count > mostBars());
}

// A player that is a column is named by its column and shows the meaning of its ones.
let featuresOf = [];
function gatherPlayers() {
  featuresOf = page.players.map(() => []);
  page.player_of.forEach((player, feature) => featuresOf[player].push(feature));
}

function playerLabel(player) {
  const features = featuresOf[player];
  const ones = features.filter((feature) => state.bits[feature]);
  const said = features.length === 1 ? features : ones;
  const tell = page.game.players === "named" && features.length > 1 ? (feature) => page.features[feature].name : (feature) => valueWords(feature);
  return { name: page.short[player], full: page.players[player], meaning: said.map(tell).join(", ") || "none of its values" };
}

// The meaning of a bit, preceded by the raw value if that says more.
function valueWords(feature) {
  return [rawValue(feature), meaningOf(feature, state.bits[feature])].filter(Boolean).join(", ");
}
