// The library inside a report: WebAssembly in a worker, so that the page never blocks on it. It takes the paths and
// bodies of the HTTP API and returns its answers (crates/boolshap-wasm). The page contains the module and its data as
// compressed Base64 text.

const PATIENCE = 1000; // a question that no longer counts is given up after this many milliseconds

// A stream of the decompressed bytes of a block; null if the block is missing or empty.
function unpacking(id) {
  const text = $(id) ? $(id).textContent : "";
  if (!text) return null;
  const letters = atob(text);
  const bytes = new Uint8Array(letters.length);
  for (let at = 0; at < bytes.length; at++) bytes[at] = letters.charCodeAt(at);
  return new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
}

// Compiles the module while decompressing it, once for all workers.
function engineModule() {
  return WebAssembly.compileStreaming(new Response(unpacking("engine-module"), { headers: { "Content-Type": "application/wasm" } }));
}

// The worker's program. It is passed as text, so it cannot access anything of the page.
function engineProgram() {
  let library = null;
  const answer = (path, body) => {
    const name = new TextEncoder().encode(path);
    const address = library.boolshap_room(name.length + body.length) >>> 0;
    const room = new Uint8Array(library.memory.buffer, address, name.length + body.length);
    room.set(name);
    room.set(body, name.length);
    const status = library.boolshap_ask(name.length);
    const reply = new Uint8Array(library.memory.buffer, library.boolshap_reply_address() >>> 0, library.boolshap_reply_length());
    return { status, text: new TextDecoder().decode(reply) };
  };
  self.onmessage = async ({ data: { id, module, path, body } }) => {
    try {
      if (module) library = (await WebAssembly.instantiate(module, {})).exports;
      self.postMessage({ id, ...(path === undefined ? {} : answer(path, body)) });
    } catch (error) {
      self.postMessage({ id, broken: String(error) });
    }
  };
}

// One worker, which answers one request at a time. `open` is its first request, sent again after every restart.
function engineOf(module, open) {
  let worker = null;
  let asked = null; // the question under way
  let queue = [];

  const send = () => {
    if (asked || !queue.length) return;
    asked = queue.shift();
    const { id, path, body } = asked;
    worker.postMessage({ id, path, body, module: asked.module });
  };
  const begin = () => {
    const address = URL.createObjectURL(new Blob([`(${engineProgram})();`], { type: "text/javascript" }));
    worker = new Worker(address);
    URL.revokeObjectURL(address);
    worker.onmessage = ({ data }) => {
      const { resolve, reject } = asked;
      asked = null;
      if (data.broken) {
        end();
        reject(new Error(`The library inside this page has stopped: ${data.broken}. It may be too much for a page; boolshap serve can answer it.`));
      } else {
        resolve(data);
      }
      send();
    };
    worker.onerror = (event) => {
      event.preventDefault();
      if (asked) asked.reject(new Error("The library inside this page cannot run in this browser."));
      asked = null;
    };
    const opening = new Promise((resolve, reject) => queue.unshift({ module, ...open, resolve, reject }));
    send();
    return opening;
  };
  const end = () => {
    worker.terminate();
    asked = null;
    begin().catch(() => {});
  };

  const read = ({ status, text }) => {
    const value = JSON.parse(text);
    if (status !== 200) throw new Error(value.error.message);
    return value;
  };
  const post = (path, body, signal) =>
    new Promise((resolve, reject) => {
      const question = { path, body, resolve, reject };
      queue.push(question);
      if (signal) {
        signal.addEventListener("abort", () => {
          queue = queue.filter((other) => other !== question);
          reject(new DOMException("a newer question", "AbortError"));
          // An obsolete request must not delay others.
          setTimeout(() => {
            if (asked === question) end();
          }, PATIENCE);
        });
      }
      send();
    });

  const opened = begin().then(read);
  const answer = async (path, body, signal) => {
    const bytes = body instanceof Uint8Array ? body : new TextEncoder().encode(body === undefined ? "" : JSON.stringify(body));
    return read(await post(path, bytes, signal));
  };
  return { opened, answer, end: () => worker.terminate() };
}

// A JSON object and bytes in the library's format: prefixed with the length of the object.
function withLength(object, ...bytes) {
  const text = object instanceof Uint8Array ? object : new TextEncoder().encode(JSON.stringify(object));
  const whole = new Uint8Array(4 + text.length + bytes.reduce((sum, part) => sum + part.length, 0));
  new DataView(whole.buffer).setUint32(0, text.length, true);
  let at = 4;
  for (const part of [text, ...bytes]) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

// The data that the report carries, completed with the rows that the page shows.
function carriedWith(bytes, { kinds, table }) {
  const length = new DataView(bytes.buffer, bytes.byteOffset).getUint32(0, true);
  const carried = JSON.parse(new TextDecoder().decode(bytes.subarray(4, 4 + length)));
  if (kinds) Object.assign(carried.rows, { bits: kinds.bits, count: kinds.count });
  if (table) Object.assign(carried.rows, { columns: table.columns, kind: table.kind });
  return withLength(carried, bytes.subarray(4 + length));
}

// Starts the library, if this report contains it; it then answers for any input and game.
async function startEngine() {
  const carried = unpacking("engine-data");
  if (!carried) return null;
  const bytesIn = async (stream) => (stream ? new Uint8Array(await new Response(stream).arrayBuffer()) : null);
  const [module, bytes, beside] = await Promise.all([engineModule(), bytesIn(carried), bytesIn(unpacking("engine-beside"))]);
  const own = page;
  const first = carriedWith(bytes, own);
  const open = beside ? { path: "open/beside", body: withLength(first, beside) } : { path: "open/carried", body: first };
  const engine = engineOf(module, open);
  const { choices } = await engine.opened;
  const ownGame = gameQuery(own.game).toString();
  // Pages and figures cover all rows and can take seconds: a second worker draws them, so that no switch has to wait.
  let drawing = null;
  const answer = async (path, body, signal) => {
    // The page that the report was written with is already available.
    if (path === `api/page?${ownGame}`) return { ...own, choices };
    if (!/^api\/(figure|page)/.test(path)) return engine.answer(path, body, signal);
    drawing = drawing || engineOf(module, open);
    return drawing.answer(path, body, signal);
  };
  return { any: true, answer };
}
