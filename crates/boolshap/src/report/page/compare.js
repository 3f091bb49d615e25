// One decision pinned, and the one shown now beside it: two rows, two classes, or a row before and after a change.

function pin() {
  const { answer, game } = state;
  const of = page.choices.classes.length > 1 ? `, ${page.labels[1]}` : "";
  const labels = page.players.map((_, player) => playerLabel(player).meaning);
  state.pinned = {
    title: `${sourceText()}${of}`, verdict: $("prediction").textContent, base: page.base_value, end: scoreOf(answer) ?? answer.prediction,
    players: page.players, scores: Array.from(answer.scores), meanings: labels, words: gameWords(game),
  };
  drawComparison();
}

function unpin() {
  state.pinned = null;
  drawComparison();
  $("pin").focus();
}

function drawComparison() {
  const { pinned, answer } = state;
  $("comparison").hidden = !pinned;
  if (!pinned) return;
  const table = $("comparison-table");
  const now = { title: sourceText(), verdict: $("prediction").textContent };
  const same = pinned.players.length === page.players.length && pinned.players.every((name, at) => name === page.players[at]);
  const head = (title, verdict) => el("th", { scope: "col" }, el("span", { className: "small", textContent: title }), el("br"), verdict);
  table.tHead.replaceChildren(el("tr", {}, el("td"), head(`${pinned.title} (pinned)`, pinned.verdict), head(now.title, now.verdict), el("th", { scope: "col", className: "number", textContent: "Difference" })));
  if (!same) {
    const words = `It was pinned with other bars: ${pinned.words}.`;
    return table.tBodies[0].replaceChildren(el("tr", {}, el("td", { colSpan: 4, textContent: words })));
  }
  const difference = (player) => answer.scores[player] - pinned.scores[player];
  const order = page.players.map((_, player) => player).sort((a, b) => Math.abs(difference(b)) - Math.abs(difference(a)) || a - b);
  const cell = (meaning, score) => el("td", {}, el("span", { className: "meaning", textContent: meaning }), " ", el("span", { className: "amount", textContent: signed(score) }));
  const line = (player) => el("tr", {}, el("th", { scope: "row" }, ...breakable(page.short[player])), cell(pinned.meanings[player], pinned.scores[player]), cell(playerLabel(player).meaning, answer.scores[player]), el("td", { className: "number", textContent: signed(difference(player)) }));
  const base = el("tr", {}, el("th", { scope: "row", textContent: "Average (base value)" }), ...[pinned.base, page.base_value].map((value) => el("td", { textContent: minus(value.toFixed(4)) })), el("td", { className: "number", textContent: signed(page.base_value - pinned.base) }));
  table.tBodies[0].replaceChildren(base, ...order.map(line));
}
