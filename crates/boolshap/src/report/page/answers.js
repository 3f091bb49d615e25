// The sources of answers: the HTTP API for a live page, or the data inside a report.

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
  const headers = body ? { "Content-Type": "application/json" } : {};
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

// Only the newest of several requests of one kind counts: a new request aborts the previous one.
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
    return { prediction: kinds.prediction[kind], score: kinds.score ? kinds.score[kind] : undefined, scores: scores.subarray(kind * players.length, (kind + 1) * players.length), flips: [] };
  };

  const row = (index) => ({
    row: index + 1,
    bits: bitsOf(kinds.bits[table.kind[index]]),
    cells: table.columns.map((column) => column.cells[index]),
    prediction: kinds.prediction[table.kind[index]],
    label: table.label ? table.label[index] : null,
  });

  // Built at the first search only, so that the page opens quickly.
  const textOf = (index) => {
    texts = texts || Array.from({ length: count }, (_, i) => table.columns.map((column) => String(column.cells[i] ?? "")).join("\n").toLowerCase());
    return texts[index];
  };

  const keyOf = (sort) => {
    if (sort === "prediction") return (index) => kinds.prediction[table.kind[index]];
    if (sort === "label") return (index) => table.label[index];
    const column = table.columns.find((one) => COLUMN + one.name === sort);
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

// Missing cells come last in both directions.
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

const rowCount = () => (live ? page.shown : report ? report.count : 0);

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
