// Two decisions side by side: two rows, two classes, a row before and after a change, or two models on the same input.

function pin() {
  const { answer, game } = state;
  const of = page.choices.classes.length > 1 ? `, ${page.labels[1]}` : "";
  state.beside = false;
  state.pinned = {
    title: `${sourceText()}${of} (pinned)`, verdict: $("prediction").textContent, base: page.base_value,
    players: page.players, scores: Array.from(answer.scores), meanings: meaningsNow(), words: `It was pinned with other bars: ${gameWords(game)}.`,
  };
  drawComparison();
}

function unpin() {
  const back = $(state.beside ? "beside" : "pin");
  state.pinned = null;
  state.beside = false;
  drawComparison();
  back.focus();
}

const meaningsNow = () => page.players.map((_, player) => playerLabel(player).meaning);

// Toggles the comparison with the second model, which then follows every input.
function toggleBeside() {
  if (state.beside) return unpin();
  state.beside = true;
  return askBeside();
}

const comparing = latest();

// Until the answer arrives, the previous input's answer is dimmed.
async function askBeside() {
  if (!state.beside) return;
  $("comparison").classList.add("stale");
  $("comparison").setAttribute("aria-busy", true);
  const meanings = meaningsNow();
  try {
    const question = { ...questionOf([state.bits]), flips: false, model: "beside" };
    const { base_value: base, players, explanations } = await ask("api/explain", question, comparing());
    const answer = labelled(explanations[0]);
    const score = scoreOf(answer);
    const [decided, other] = verdict(score === undefined ? answer.prediction : Number(score >= 0), score, answer.class);
    const words = "The two models have other bars.";
    state.pinned = { title: page.beside.name, verdict: decided + other, base, players, scores: answer.scores, meanings, words };
    drawComparison();
  } catch (error) {
    showError(error);
  }
}

function drawComparison() {
  const { pinned, beside, answer } = state;
  $("comparison").hidden = !pinned;
  $("comparison").classList.remove("stale");
  $("comparison").setAttribute("aria-busy", false);
  set($("beside"), { "aria-pressed": beside });
  if (!pinned) return;
  say($("comparison-heading"), beside ? "What two models say of it" : "Compared with what was pinned");
  say($("comparison-words"), (beside && page.beside.words) || "");
  const table = $("comparison-table");
  const same = pinned.players.length === page.players.length && pinned.players.every((name, at) => name === page.players[at]);
  const head = (title, verdict) => el("th", { scope: "col" }, el("span", { className: "small", textContent: title }), el("br"), verdict);
  const now = head(beside ? "this model" : sourceText(), $("prediction").textContent);
  table.tHead.replaceChildren(el("tr", {}, el("td"), head(pinned.title, pinned.verdict), now, el("th", { scope: "col", className: "number", textContent: "Difference" })));
  if (!same) return table.tBodies[0].replaceChildren(el("tr", {}, el("td", { colSpan: 4, textContent: pinned.words })));
  const difference = (player) => answer.scores[player] - pinned.scores[player];
  const order = page.players.map((_, player) => player).sort((a, b) => Math.abs(difference(b)) - Math.abs(difference(a)) || a - b);
  // Two models share the input, so its values appear once, below the name.
  const cell = (meaning, score) => el("td", {}, ...(beside ? [] : [el("span", { className: "meaning", textContent: meaning }), " "]), el("span", { className: "amount", textContent: signed(score) }));
  const input = (player) => (beside ? [el("br"), el("span", { className: "small", textContent: playerLabel(player).meaning })] : []);
  const line = (player) => el("tr", {}, el("th", { scope: "row" }, el("span", { className: "name" }, ...breakable(page.short[player])), ...input(player)), cell(pinned.meanings[player], pinned.scores[player]), cell(playerLabel(player).meaning, answer.scores[player]), el("td", { className: "number", textContent: signed(difference(player)) }));
  const base = el("tr", {}, el("th", { scope: "row" }, el("span", { className: "name", textContent: "Average (base value)" })), ...[pinned.base, page.base_value].map((value) => el("td", { textContent: minus(value.toFixed(4)) })), el("td", { className: "number", textContent: signed(page.base_value - pinned.base) }));
  table.tBodies[0].replaceChildren(base, ...order.map(line));
}
