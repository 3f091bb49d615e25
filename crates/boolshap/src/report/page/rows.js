// The rows of the data: search, sort and select.

function buildRows() {
  if (!rowCount()) return;
  $("rows").hidden = false;
  if (page.notes.table) {
    $("rows-note").textContent = page.notes.table;
    $("rows-note").hidden = false;
  }
  let wait = 0;
  $("search").addEventListener("input", () => {
    clearTimeout(wait);
    wait = setTimeout(() => changeQuery({ search: $("search").value, offset: 0 }), 120);
  });
  $("wrong-label").hidden = !page.performance;
  $("wrong").addEventListener("change", () => changeQuery({ wrong: $("wrong").checked, offset: 0 }));
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
    drawRows(await askRows(state.query.offset, PAGE_ROWS, listing()));
  } catch (error) {
    showError(error);
  }
}

async function askRows(offset, limit, signal) {
  const { search, wrong, sort, descending } = state.query;
  const query = gameQuery(state.game);
  for (const [name, value] of Object.entries({ offset, limit, search, wrong, sort, descending })) if (value !== "" && value !== false) query.set(name, value);
  return ask(`api/rows?${query}`, undefined, signal);
}

// The rows listed now, and their total number.
let listed = { total: 0, offset: 0, rows: [] };
const listedTotal = () => listed.total;

function placeInList(number) {
  const at = listed.rows.findIndex((row) => row.row === number);
  return at < 0 ? null : listed.offset + at;
}

function drawRows(found) {
  const { total, offset, rows, columns } = found;
  listed = found;
  if (state.row) {
    const { search, wrong, sort, descending } = state.query;
    const inOrder = !search.trim() && !wrong && sort === "row" && !descending;
    state.place = inOrder ? state.row.row - 1 : placeInList(state.row.row) ?? (offset ? offset - 1 : -1);
    drawSource();
  }
  const labelled = Boolean(page.performance) || rows.some((row) => row.known !== null && row.known !== undefined);
  const heads = [{ name: "row", words: "Row", numeric: true }, { name: "prediction", words: "Prediction" }];
  if (labelled) heads.push({ name: "label", words: "In the data" });
  drawHeads([...heads, ...columns.map(({ name, numeric }) => ({ name: COLUMN + name, numeric, words: name }))]);
  rowsBody().replaceChildren(...rows.map((row) => buildLine(row, columns, labelled)));
  const filtered = state.query.search.trim() || state.query.wrong ? " found" : "";
  $("rows-status").textContent = total ? `${thousands(offset + 1)}–${thousands(offset + rows.length)} of ${thousands(total)}${filtered}` : "No row matches";
  $("rows-previous").disabled = offset === 0;
  $("rows-next").disabled = offset + rows.length >= total;
  markRow();
}

// Keeps the header while the columns stay the same, so that a sorted column keeps the focus.
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
  const wrong = row.known !== null && row.known !== undefined && row.known !== row.class;
  const line = el("tr", {}, el("td", { className: "number" }, choose), classCell(row.class ?? row.prediction, wrong));
  line.dataset.row = row.row;
  if (labelled) line.append(classCell(row.known));
  columns.forEach((column, i) => {
    const text = cellText(row.cells[i]);
    line.append(el("td", { className: column.numeric ? "number" : "", textContent: text, title: text.length > 30 ? text : "" }));
  });
  return line;
}

function classCell(value, wrong) {
  if (value === null || value === undefined) return el("td");
  const text = minusNumbers(page.classes[value] ?? String(value));
  return el("td", { className: wrong ? "wrong" : "", title: text }, wrong ? `${text} ✗` : text);
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
