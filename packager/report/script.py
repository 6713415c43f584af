"""The script of a page: search, folding, and links into what is folded. A page is read without it, too."""

from typing import Final

SCRIPT: Final = """
"use strict";
const all = selector => Array.from(document.querySelectorAll(selector));
const search = document.getElementById("search"), found = document.getElementById("found");
const folds = all("details"), first = folds.map(fold => fold.open);
const rows = all(".searched tbody tr, .module").map(row => [row, row.textContent.toLowerCase()]);
const reveal = element => {
  for (let at = element; at; at = at.parentElement) if (at.tagName === "DETAILS") at.open = true;
};
const look = () => {
  const wanted = search.value.trim().toLowerCase();
  let count = 0;
  folds.forEach((fold, at) => { fold.open = wanted ? false : first[at]; fold.hidden = false; });
  for (const [row, text] of rows) {
    row.hidden = wanted !== "" && !text.includes(wanted);
    if (!wanted || row.hidden) continue;
    count += 1;
    reveal(row.parentElement);
  }
  for (const fold of folds)
    if (wanted && fold.matches(".table, .package") && fold.querySelector(".searched, .module"))
      fold.hidden = !fold.open;
  for (const part of all("main section")) {
    const inside = Array.from(part.querySelectorAll(".table, .package"));
    part.hidden = wanted !== "" && inside.every(fold => fold.hidden || !fold.open);
  }
  found.value = wanted ? count.toLocaleString("en") + (count === 1 ? " row" : " rows") : "";
};
let waiting = 0;
search.addEventListener("input", () => { clearTimeout(waiting); waiting = setTimeout(look, 120); });
const setAll = open => () => folds.forEach(fold => { fold.open = open; });
document.getElementById("unfold").addEventListener("click", setAll(true));
document.getElementById("fold").addEventListener("click", setAll(false));
const follow = () => {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (target) { reveal(target); target.scrollIntoView(); }
};
addEventListener("hashchange", follow);
let before = null;
addEventListener("beforeprint", () => {
  before = folds.map(fold => fold.open);
  folds.forEach(fold => { fold.open = true; });
});
addEventListener("afterprint", () => {
  if (before) folds.forEach((fold, at) => { fold.open = before[at]; });
  before = null;
});
document.querySelector(".tools").hidden = false;
if (location.hash) follow();
"""
"""What every page has; its digest stands in the page's policy."""
