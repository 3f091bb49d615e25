// The boolshap page: shows one entity with its exact SHAP scores, the rows of the data, and the figures over all rows.
// A report and a live page are one page with different ways to ask (ask.js). This file holds its state; the other files of
// this folder are joined with it into one script (see ../page.rs).
"use strict";

const MOST_BARS = 20;
const PAGE_ROWS = 50;
const COLUMN = "column:"; // prefix of a data column's name, to distinguish it from "row", "prediction" and "label"
const GAME = ["distribution", "players", "class"];
const SVG = "http://www.w3.org/2000/svg";
const $ = (id) => document.getElementById(id);

let page = JSON.parse($("page-data").textContent); // of a report without its rows, which begin() adds
const defaults = { ...page.game };

// What the page shows now; everything else follows from it.
const state = {
  game: gameOf(page),
  row: null, // the selected row of the data: {row, bits, cells, class, known}
  place: null, // its place among the rows that are listed
  bits: page.features.map(() => 0),
  answer: { flips: [] }, // with the page it belongs to
  words: null, // what is said of it: {why, change, rows_alike}
  needed: null, // the columns that are enough for the decision, where that was asked
  pinned: null, // a decision to compare with: one that was kept, or that of the model beside this one
  beside: false, // whether that is the second model's, for whatever is shown
  showAll: false,
  query: { search: "", wrong: false, sort: "row", descending: false, offset: 0 },
};
