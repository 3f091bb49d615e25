// The backend of a report's stored data: the rows that can be chosen and the scores of each kind of row, in one game
// and for one class. It answers like the HTTP API, for the stored inputs.

function keptBy({ kinds, table, players, base_value: base }) {
  const bytes = Uint8Array.from(atob(kinds ? kinds.scores : ""), (letter) => letter.charCodeAt(0));
  const view = new DataView(bytes.buffer);
  const scores = Float64Array.from({ length: bytes.length / 8 }, (_, i) => view.getFloat64(8 * i, true));
  const kindOf = new Map(kinds ? kinds.bits.map((bits, kind) => [bits, kind]) : []);
  const count = table ? table.shown : 0;
  let texts = null;

  const kindFor = (entity) => {
    const kind = kindOf.get(entity.join(""));
    if (kind === undefined) throw new Error("This report holds no scores for these bits; boolshap serve can explain any input.");
    return kind;
  };

  const explanation = (entity) => {
    const kind = kindFor(entity);
    const own = Array.from(scores.subarray(kind * players.length, (kind + 1) * players.length));
    return { prediction: kinds.prediction[kind], class: kinds.class ? kinds.class[kind] : undefined, score: kinds.score ? kinds.score[kind] : undefined, scores: own, flips: [] };
  };

  const row = (index) => ({
    row: index + 1,
    bits: kinds.bits[table.kind[index]],
    cells: table.columns.map((column) => column.cells[index]),
    prediction: kinds.prediction[table.kind[index]],
    label: table.label ? table.label[index] : null,
    class: kinds.class ? kinds.class[table.kind[index]] : kinds.prediction[table.kind[index]],
    known: table.known ? table.known[index] : null,
  });

  // Built only at the first search, so that the page opens quickly.
  const textOf = (index) => {
    texts = texts || Array.from({ length: count }, (_, i) => table.columns.map((column) => String(column.cells[i] ?? "")).join("\n").toLowerCase());
    return texts[index];
  };

  const isWrong = ({ known, class: given }) => known !== null && known !== given;

  const sentence = (entity) => {
    if (!kinds.change) throw new Error("This report does not keep that; boolshap serve can answer it.");
    return { sentence: kinds.change[kindFor(entity)] };
  };

  const keyOf = (sort) => {
    if (sort === "prediction") return (index) => kinds.prediction[table.kind[index]];
    if (sort === "label") return (index) => table.label[index];
    const column = table.columns.find((one) => COLUMN + one.name === sort);
    return column ? (index) => column.cells[index] : (index) => index;
  };

  const rows = (query) => {
    const [offset, limit] = [Number(query.get("offset") || 0), Number(query.get("limit") || PAGE_ROWS)];
    const [sort, descending] = [query.get("sort") || "row", query.get("descending") === "true"];
    const wanted = (query.get("search") || "").toLowerCase().replace(/\u2212/g, "-").split(/\s+/).filter(Boolean);
    let found = Array.from({ length: count }, (_, i) => i);
    if (wanted.length) found = found.filter((index) => wanted.every((word) => textOf(index).includes(word)));
    if (query.get("wrong")) found = found.filter((index) => isWrong(row(index)));
    if (sort !== "row" || descending) found.sort(comparison(keyOf(sort), descending));
    return { total: found.length, offset, rows: found.slice(offset, offset + limit).map(row), columns: table.columns };
  };

  const answer = async (path, body) => {
    const [name, query] = path.split("?");
    if (name === "api/rows") return rows(new URLSearchParams(query));
    if (name === "api/explain") return { base_value: base, explanations: body.entities.map(explanation) };
    if (name === "api/words") return { words: body.entities.map((entity) => ({ why: kinds.why ? kinds.why[kindFor(entity)] : "", rows_alike: kinds.count[kindFor(entity)] })) };
    if (name === "api/ask" && body.question === "counterfactual") return { rows: body.entities.map(sentence) };
    throw new Error("This report does not keep that; boolshap serve can answer it.");
  };
  return { any: false, answer };
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
