// Helpers for texts, numbers and elements.

const minus = (text) => text.replace(/-/g, "\u2212");
const PLAYER_WORDS = { features: "feature", columns: "column", named: "player" };
const playerWord = (n) => PLAYER_WORDS[page.game.players] + (n === 1 ? "" : "s");

function thousands(n) {
  return String(n).replace(/\B(?=(\d{3})+$)/g, ",");
}

function signed(score) {
  const digits = Math.abs(score).toFixed(4);
  return score > 0 ? `+${digits}` : score < 0 ? `\u2212${digits}` : digits;
}

// Integers are not rounded: that would change a year or an identifier.
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

// Writes only what has changed, because every write costs style and layout.
function set(node, attributes) {
  for (const name in attributes) {
    const value = String(attributes[name]);
    if (node.getAttribute(name) !== value) node.setAttribute(name, value);
  }
}

function say(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

// Lets long names break after separators rather than anywhere.
function breakable(name) {
  return (name.match(/[^_=./-]*[_=./-]*/g) || []).flatMap((part) => [part, el("wbr")]).slice(0, -1);
}

// Measuring text on a canvas needs no page layout.
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

// Shortens in the middle, the least informative part of most long names.
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

// A text in two lines, broken after a separator if possible; the second line is shortened if necessary.
function twoLines(text, width, size) {
  if (measure(text, size) <= width) return [text, ""];
  let end = text.length;
  while (end > 1 && measure(text.slice(0, end), size) > width) end--;
  const broken = text.slice(0, end).search(/[\s_=./-][^\s_=./-]*$/);
  const at = broken > 0 && broken > end / 3 ? broken + 1 : end;
  return [text.slice(0, at).trimEnd(), shorten(text.slice(at).trimStart(), width, size)];
}
