// The figures over all rows, and their tooltips.

const CAPTIONS = {
  importance: ["Importance", () => `The mean absolute score of each ${playerWord(1)} over all rows: the longer the bar, the more it moves decisions.`],
  beeswarm: ["Scores of all rows", () => `Each dot is a row, or several alike; to the right it pushes towards 1, to the left towards 0. Choose a dot to see its row above.`],
  image: ["Image", () => `The first row as an image: what its ${playerWord(2)} contribute, for each class.`],
  interactions: ["Interactions", () => `How much two ${playerWord(2)} matter together, beyond what each does on its own.`],
  timing: ["", () => "How long the exact scores take."],
  circuit: ["", () => "The compiled circuit the scores are computed from."],
};

function drawFigures() {
  for (const name of Object.keys(CAPTIONS)) drawFigure(name, page.figures[name]);
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
  const drawing = document.importNode(new DOMParser().parseFromString(source, "image/svg+xml").documentElement, true);
  const frame = el("div", { className: "figure" }, drawing);
  figure.replaceChildren(caption, frame);
  prepareTips(frame, drawing);
}

function asSentence(note) {
  const text = note.charAt(0).toUpperCase() + note.slice(1);
  return /[.!?]$/.test(text) ? text : `${text}.`;
}

// One tab stop per figure, then arrow keys: a thousand dots would be a thousand tab stops.
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

// The event comes after the scrolling: the tooltip stays if its element is still under the pointer or in focus.
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
