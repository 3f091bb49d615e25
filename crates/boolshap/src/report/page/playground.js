// The playground: a report that makes other reports, from files that are chosen in it or dropped on it. The library
// inside the page reads and compiles them, so nothing leaves the computer. The new report is this document with other
// data.

const pristine = page.playground ? `<!doctype html>${document.documentElement.outerHTML}` : null;

// Replaces the text of a block of the new document; all blocks come before this script.
function withBlock(html, start, end, text) {
  const at = html.indexOf(start) + start.length;
  return html.slice(0, at) + text + html.slice(html.indexOf(end, at));
}

async function packed(text) {
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new CompressionStream("gzip"));
  const zipped = new Uint8Array(await new Response(stream).arrayBuffer());
  let letters = "";
  for (let at = 0; at < zipped.length; at += 32768) letters += String.fromCharCode(...zipped.subarray(at, at + 32768));
  return btoa(letters);
}

// The address of a report on these files.
async function reportOf(source, rows) {
  const [module, content, cells] = await Promise.all([engineModule(), bytesOf(source), bytesOf(rows)]);
  const names = { source: source.name, rows: rows ? rows.name : null };
  const engine = engineOf(module, { path: "open/files", body: withLength(names, withLength(content, cells)) });
  try {
    await engine.opened;
    const { page: data, carried } = await engine.answer("report/standing");
    data.playground = true;
    const text = JSON.stringify(data).replaceAll("<", "\\u003c");
    let html = withBlock(pristine, ' id="page-data">', "<\/script>", text);
    html = withBlock(html, ' id="page-rows">', "<\/script>", ""); // they are in the page's data
    html = withBlock(html, ' id="engine-data">', "<\/script>", carried === null ? "" : await packed(carried));
    html = withBlock(html, "<title>", "</title>", el("p", { textContent: data.title }).innerHTML);
    return URL.createObjectURL(new Blob([html], { type: "text/html" }));
  } finally {
    engine.end();
  }
}

async function bytesOf(file) {
  return new Uint8Array(file ? await file.arrayBuffer() : 0);
}

// Whether a file is a table by its name; otherwise it is a circuit or a model.
const isTable = (file) => /\.(csv|tsv|txt)(\.gz)?$/i.test(file.name);

function buildPlayground() {
  if (!page.playground) return;
  const source = el("input", { type: "file", id: "own-source" });
  const rows = el("input", { type: "file", id: "own-rows" });
  const open = el("button", { type: "button", id: "own-open", textContent: "Open" });
  const status = el("p", { className: "hint", id: "own-status" });
  set(status, { role: "status" });
  const show = async () => {
    clearError();
    if (!source.files.length) return showError(new Error("Choose a circuit or a model first."));
    open.disabled = true;
    status.textContent = "Reading and compiling …";
    try {
      location.href = await reportOf(source.files[0], rows.files[0]);
    } catch (error) {
      showError(error);
    }
    status.textContent = "";
    open.disabled = false;
  };
  open.addEventListener("click", show);
  const hint = "A circuit (.bsc) or a model (model.json) of boolshap, and its rows as CSV, chosen here or dropped anywhere on this page. They are read in this page: nothing leaves your computer.";
  const heading = el("h2", { id: "own-heading", textContent: "Open your own" });
  const section = el("section", { id: "playground" }, heading, el("p", { className: "hint", textContent: hint }),
    el("p", {}, el("label", {}, "Circuit or model ", source), " ", el("label", {}, "Rows ", rows), " ", open), status);
  set(section, { "aria-labelledby": heading.id });
  document.querySelector("main").prepend(section);
  addEventListener("dragover", (event) => event.preventDefault());
  addEventListener("drop", (event) => {
    event.preventDefault();
    for (const file of event.dataTransfer.files) {
      const chosen = new DataTransfer();
      chosen.items.add(file);
      (isTable(file) ? rows : source).files = chosen.files;
    }
    show();
  });
}
