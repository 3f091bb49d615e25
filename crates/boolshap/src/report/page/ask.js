// How the page sends requests. Every answer comes from one function, ask(path, body, signal), with the paths, bodies
// and answers of the HTTP API. The backend is a server, the data stored in a report (kept.js), or an engine inside a
// report, which takes over with wake() (start.js). A backend is {answer(path, body, signal), any}: a promise of the
// JSON, and whether it answers for any input and game or only for stored ones.

const server = {
  any: true,
  async answer(path, body, signal) {
    const headers = body ? { "Content-Type": "application/json" } : {};
    let response;
    try {
      response = await fetch(path, { method: body ? "POST" : "GET", headers, signal, body: body && JSON.stringify(body) });
    } catch (error) {
      if (error.name === "AbortError") throw error;
      throw Object.assign(new Error("The server does not answer. Is boolshap serve still running? Trying again."), { isAway: true });
    }
    const value = await response.json().catch((error) => {
      if (error.name === "AbortError") throw error;
      return {};
    });
    if (!response.ok) throw new Error(value.error ? value.error.message : `The server answered with status ${response.status}.`);
    return value;
  },
};

let way = server;

async function ask(path, body, signal) {
  const asked = way;
  const value = await asked.answer(path, body, signal);
  if (signal && signal.aborted) throw new DOMException("a newer question", "AbortError");
  return value;
}

const answersAny = () => way.any;

function gameOf(data) {
  const { distribution, players } = data.game;
  return { distribution, players, class: data.game.class };
}

function gameQuery(game) {
  const query = new URLSearchParams({ distribution: game.distribution, players: game.players });
  if (game.class !== null && game.class !== undefined) query.set("class", game.class);
  return query;
}

// Only the newest request of each kind counts: it aborts the previous one.
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

// An unreachable server may come back: the page retries and then continues by itself.
const RETRY = 2000;
let retrying = 0;
function showError(error) {
  if (error.name === "AbortError") return;
  $("error").textContent = error.message;
  $("error").hidden = false;
  clearTimeout(retrying);
  if (error.isAway) retrying = setTimeout(explain, RETRY);
}

function clearError() {
  $("error").hidden = true;
  $("error").textContent = "";
}

function bitsOf(text) {
  return Array.from(text, Number);
}

const rowCount = () => page.shown;

const isRow = (number) => Number.isInteger(number) && number >= 1 && number <= rowCount();

async function fetchRow(number) {
  if (!isRow(number)) throw new Error(`There is no row ${number} here; the last is row ${thousands(rowCount())}.`);
  const query = gameQuery(state.game);
  query.set("offset", number - 1);
  query.set("limit", 1);
  const { rows, columns } = await ask(`api/rows?${query}`, undefined, choosing());
  return { ...rows[0], bits: bitsOf(rows[0].bits), columns };
}
