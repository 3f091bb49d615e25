// The boolshap page: shows one entity with its exact SHAP scores, the rows of the data, and the figures over all rows.
// It serves two masters: a report, where all answers are in the page's own JSON, and the live page, which asks the HTTP API.
// This is its state; its parts stand in files beside it, which are put together into one script (see ../page.rs).
"use strict";

const MOST_BARS = 20;
const PAGE_ROWS = 50;
const COLUMN = "column:"; // before the name of a column of the data, where it stands among "row", "prediction" and "label"
const GAME = ["distribution", "players", "class"];
const SVG = "http://www.w3.org/2000/svg";
const $ = (id) => document.getElementById(id);

let page = JSON.parse($("page-data").textContent);
const live = page.live;
const defaults = { ...page.game };

// What the reader is looking at; everything else on the page follows from it.
const state = {
  game: gameOf(page),
  row: null, // the chosen row of the data: {row, bits, cells, prediction, label}
  bits: page.features.map(() => 0),
  answer: { flips: [] }, // with the page it answers for
  showAll: false,
  query: { search: "", sort: "row", descending: false, offset: 0 },
};
