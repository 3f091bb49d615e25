// The boolshap page: shows one entity with its exact SHAP scores, the rows of the data, and the figures over all rows.
// A report and a live page are the same page with different backends (ask.js). This file holds its state; the other
// files of this folder are concatenated with it into one script (see ../page_file.rs).
"use strict";

const MOST_BARS = 20;
const PAGE_ROWS = 50;
const COLUMN = "column:"; // prefix of a data column's name, to distinguish it from "row", "prediction" and "label"
const GAME = ["distribution", "players", "class"];
const SVG = "http://www.w3.org/2000/svg";
const $ = (id) => document.getElementById(id);

let page = JSON.parse($("page-data").textContent); // in a report without its rows, which begin() adds
const defaults = { ...page.game };

// The current state of the page; everything else is derived from it.
const state = {
  game: gameOf(page),
  row: null, // the selected row of the data: {row, bits, cells, class, known}
  place: null, // its place among the listed rows
  bits: page.features.map(() => 0),
  answer: { flips: [] }, // with the page it belongs to
  words: null, // the sentences about it: {why, change, rows_alike}
  needed: null, // the columns that are enough for the decision, if requested
  pinned: null, // a decision to compare with: a pinned one, or the second model's
  beside: false, // whether the comparison is with the second model, following the input
  showAll: false,
  query: { search: "", wrong: false, sort: "row", descending: false, offset: 0 },
};
