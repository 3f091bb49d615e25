// The figures over all rows, and their tooltips.

const CAPTIONS = {
  dependence: ["Score over values", () => "How the score of one " + playerWord(1) + " depends on its value; dashed where its bits change. Each dot is a row, or several alike."],
  heat: ["All rows side by side", () => `Every row at once: what each ${playerWord(1)} contributes, rows alike beside each other. Choose a place to see its row above.`],
  importance: ["Importance", () => `The mean absolute score of each ${playerWord(1)} over all rows: the longer the bar, the more it moves decisions.`],
  beeswarm: ["Scores of all rows", () => `Each dot is a row, or several alike; to the right it pushes towards ${labelText(1)}, to the left towards ${labelText(0)}. Choose a dot to see its row above.`],
  image: ["Image", () => `The first row as an image: what its ${playerWord(2)} contribute, for each class.`],
  interactions: ["Interactions", () => `How much two ${playerWord(2)} matter together, beyond what each does on its own, and whether together they mostly push towards ${labelText(1)} or ${labelText(0)}.`],
  timing: ["", () => "How long the exact scores take."],
  circuit: ["", () => "The compiled circuit the scores are computed from."],
};

function drawFigures() {
  for (const name of Object.keys(CAPTIONS)) if (name in page.figures) drawFigure(name, name === "image" && answersAny() ? null : page.figures[name]);
  $("all").hidden = !["importance", "beeswarm", "interactions", "image"].some((name) => page.figures[name]);
  for (const name of ["timing", "circuit"]) $(name).closest("section").hidden = !page.figures[name];
}

function drawFigure(name, source) {
  const figure = $(name);
  figure.hidden = !source;
  if (!source) return figure.replaceChildren();
  const [heading, words] = CAPTIONS[name];
  const note = (page.notes || {})[name];
  const caption = el("figcaption", {}, ...(heading ? [el("h3", { textContent: heading })] : []), note ? `${words()} ${asSentence(note)}` : words());
  const frame = el("div", { className: "figure" });
  figure.replaceChildren(caption, frame);
  showDrawing(frame, source);
}

function showDrawing(frame, source) {
  const drawing = document.importNode(new DOMParser().parseFromString(source, "image/svg+xml").documentElement, true);
  drawing.classList.toggle("narrow", Number(drawing.getAttribute("width")) < 500);
  frame.replaceChildren(drawing);
  prepareTips(frame, drawing);
}

// Figures that are loaded after the page is shown: narrow ones for phones, and large ones.
const NARROW = 600;
const loading = { importance: latest(), beeswarm: latest(), dependence: latest(), heat: latest() };
let loadedFor = "";
function loadFigures() {
  if (!answersAny() || !page.rows || !document.documentElement.dataset.ready) return;
  const narrow = innerWidth < NARROW;
  const key = JSON.stringify([state.game, narrow]);
  if (key === loadedFor) return;
  loadedFor = key;
  const own = ["importance", "beeswarm"].filter((name) => page.figures[name]);
  if (narrow) for (const name of own) loadFigure(name, { name });
  else {
    for (const name of own) loading[name](); // cancels narrow figures that are still loading
    drawFigures();
  }
  loadFigure("heat", { name: "rows", narrow });
  loadDependence(narrow);
}

async function loadFigure(place, settings) {
  const query = gameQuery(state.game);
  for (const [name, value] of Object.entries(settings)) query.set(name, value);
  const shown = page;
  try {
    const { svg: source } = await ask(`api/figure?${query}`, undefined, loading[place]());
    if (shown === page) drawFigure(place, source);
  } catch (error) {
    if (error.name !== "AbortError" && shown === page) drawFigure(place, null);
  }
}

// The player of the dependence figure: the chosen one, otherwise the most important.
let dependsOn = null;
async function loadDependence(narrow) {
  if (!page.players.includes(dependsOn)) dependsOn = page.players[ranked(page.importance)[0]];
  await loadFigure("dependence", { name: "dependence", player: dependsOn, narrow });
  const caption = $("dependence").querySelector("figcaption");
  if (!caption) return;
  const order = ranked(page.importance);
  const select = el("select", { id: "choose-player" }, ...order.map((player) => el("option", { value: page.players[player], textContent: page.short[player], selected: page.players[player] === dependsOn })));
  select.addEventListener("change", async () => {
    dependsOn = select.value;
    await loadDependence(narrow);
    $("choose-player").focus();
  });
  caption.append(el("label", { className: "block" }, el("span", { textContent: "Score of " }), select));
}

function asSentence(note) {
  const text = note.charAt(0).toUpperCase() + note.slice(1);
  return /[.!?]$/.test(text) ? text : `${text}.`;
}

// One tab stop per figure, then arrow keys; otherwise a thousand dots would be a thousand tab stops.
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

let tipped = null;

function showTip(node, x) {
  const tip = $("tip");
  tipped = node;
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
  tipped = null;
}

// Scroll events fire after scrolling: the tooltip stays if its element is still under the pointer or in focus.
function followTip() {
  if (!tipped) return;
  if (tipped.matches(":hover, :focus-visible")) showTip(tipped);
  else hideTip();
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
  document.addEventListener("scroll", followTip, { passive: true, capture: true });
  document.addEventListener("keydown", onTipKey);
  document.addEventListener("click", (event) => {
    const dot = event.target.closest(".figure svg [data-row]");
    if (dot) chooseAndShow(Number(dot.dataset.row));
  });
}
