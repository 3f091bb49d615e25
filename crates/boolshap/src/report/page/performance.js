// How well the model predicts the rows whose class is known: accuracy and confusion matrix.

const MOST_CLASSES = 40;
const percent = (share) => (share === null ? "" : `${(100 * share).toFixed(1)} %`);

function drawPerformance() {
  const { performance: found } = page;
  $("performance").hidden = !found;
  const plain = page.compiled ? "Exact SHAP scores from a Boolean circuit" : "Exact SHAP scores of a network";
  say($("tagline"), found ? `Exact SHAP scores of a model that is right on ${found.words}` : plain);
  if (!found) return;
  say($("accuracy"), `It is right on ${found.words}: ${thousands(found.right)} of them.`);
  const table = $("confusion");
  say(table.caption, "Rows by the class in the data (down) and the class predicted (across)");
  const shown = found.classes.slice(0, MOST_CLASSES);
  const head = (words) => el("th", { scope: "col", className: "number" }, ...breakable(words));
  table.tHead.replaceChildren(el("tr", {}, el("td"), ...shown.map((one) => head(one.name)), head("found"), head("right if predicted")));
  const most = Math.max(1, ...found.confusion.flat());
  table.tBodies[0].replaceChildren(...shown.map((one, known) => {
    const cells = shown.map((_, given) => confusionCell(found.confusion[known][given], known === given, most));
    const shares = [one.recall, one.precision].map((share) => el("td", { className: "number", textContent: percent(share) }));
    return el("tr", {}, el("th", { scope: "row" }, ...breakable(one.name)), ...cells, ...shares);
  }));
}

function confusionCell(count, right, most) {
  const cell = el("td", { className: `number cell ${right ? "right" : count ? "wrong" : ""}`, textContent: thousands(count) });
  cell.style.setProperty("--share", Math.sqrt(count / most).toFixed(3));
  return cell;
}
