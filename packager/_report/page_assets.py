"""What a page brings along: its stylesheet (phones and wide screens, light and dark, paper), and its script.

The script searches, folds, and opens what a link leads into. A page is read without it, too.
"""

from typing import Final

STYLESHEET: Final = """
:root{
--paper:#fff;--ink:#1c2126;--faint:#566068;--line:#d5dadf;--fill:#f4f6f8;--link:#0b5cad;
--good:#176534;--good-fill:#e3f4e8;--warning:#7a4a00;--warning-fill:#fdf0d5;--bad:#a01722;--bad-fill:#fde5e6;
--bar:#3b78b0;--code:#dbeaf7;--weights:#e2efd9;--data:#fbe9cf;--other:#e9e3f3;--edge:#7d8790;
}
@media (prefers-color-scheme:dark){:root{
--paper:#15191d;--ink:#e4e8eb;--faint:#a3adb5;--line:#39424a;--fill:#1e242a;--link:#82bdf3;
--good:#8fdba8;--good-fill:#173522;--warning:#f0c274;--warning-fill:#3b2c0c;--bad:#ffa3a8;--bad-fill:#471a1e;
--bar:#6fb1e8;--code:#1d3a54;--weights:#24401f;--data:#4a3716;--other:#352b4b;--edge:#78838c;
}}
*{box-sizing:border-box}
html{color-scheme:light dark;-webkit-text-size-adjust:100%;scroll-padding-top:4rem}
body{margin:0;background:var(--paper);color:var(--ink);font:16px/1.5 system-ui,sans-serif;
overflow-wrap:anywhere}
header,main{max-width:75rem;margin:0 auto;padding:0 1rem}
h1{font-size:1.6rem;line-height:1.25;margin:1.2rem 0 .2rem}
h2{font-size:1.2rem;margin:2.2rem 0 .5rem;border-bottom:1px solid var(--line);padding-bottom:.25rem}
small{color:var(--faint);font-size:.85em;font-weight:400}
a{color:var(--link)}
a:focus-visible,summary:focus-visible,input:focus-visible,button:focus-visible,.scroll:focus-visible{
outline:2px solid var(--link);outline-offset:2px}
code,pre{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;font-size:.875em;unicode-bidi:isolate}
.subtitle,.note{color:var(--faint);margin:.2rem 0 .8rem}
nav ul{list-style:none;margin:0;padding:0;display:flex;flex-wrap:wrap;gap:.25rem 1rem}
nav a{display:inline-block;padding:.15rem 0}
.tools{display:flex;flex-wrap:wrap;gap:.5rem;align-items:center;padding:.5rem 0}
.tools[hidden]{display:none}
.tools label{display:flex;gap:.5rem;align-items:center;flex:1 1 14rem;max-width:28rem}
input,button{font:inherit;color:inherit;background:var(--fill);border:1px solid var(--edge);
border-radius:.35rem;padding:.35rem .6rem}
input{flex:1;min-width:0;width:100%}
button{cursor:pointer}
output{color:var(--faint)}
.facts{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,16rem),1fr));
gap:.6rem 1.5rem;margin:0}
.facts+.facts{margin-top:1.2rem}
.facts div{min-width:0}
.facts div:has(code){grid-column:span 2}
dt{color:var(--faint);font-size:.85rem}
dd{margin:0}
details{margin:.35rem 0}
summary{cursor:pointer;padding:.2rem 0}
.table>summary,.lines>summary,.package>summary{font-weight:600}
.package>div{border-left:2px solid var(--line);padding-left:.8rem;margin-left:.3rem}
.module p,.module ol{margin:.2rem 0 .4rem 1.2rem}
.module{margin:.05rem 0}
.chain{padding-left:1.2rem}
.scroll{overflow-x:auto;max-width:100%;background:linear-gradient(-90deg,var(--paper) 1.2rem,transparent)
local,linear-gradient(-90deg,var(--edge),transparent .8rem)}
table{border-collapse:collapse;min-width:100%;font-size:.9rem;overflow-wrap:break-word}
thead th{white-space:nowrap;color:var(--faint);font-weight:600;text-align:left;
border-bottom:2px solid var(--line)}
th,td{padding:.3rem .8rem .3rem 0;vertical-align:top;text-align:left;border-bottom:1px solid var(--line);
min-width:4rem;max-width:26rem;unicode-bidi:isolate}
tbody th{font-weight:400;min-width:11rem;overflow-wrap:anywhere}
td code{overflow-wrap:anywhere}
.number{font-variant-numeric:tabular-nums;white-space:nowrap}
.mark{border-radius:.3rem;padding:.05rem .4rem;background:var(--fill);font-size:.85em;white-space:nowrap}
.good{color:var(--good);background:var(--good-fill)}
.warning{color:var(--warning);background:var(--warning-fill)}
.bad{color:var(--bad);background:var(--bad-fill)}
.said{padding:.5rem .8rem;border-radius:.35rem;background:var(--fill)}
.said.good{background:var(--good-fill)}.said.warning{background:var(--warning-fill)}.said.bad{background:var(--bad-fill)}
.cut{color:var(--faint);font-size:.9rem;margin:.3rem 0}
pre{margin:0;line-height:1.4;overflow-wrap:normal}
ins{color:var(--good);background:var(--good-fill);text-decoration:none}
del{color:var(--bad);background:var(--bad-fill);text-decoration:none}
svg{display:block}
svg text{font:12px ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;fill:var(--ink)}
.bars{min-width:64px}
.bars path{fill:var(--bar)}
.treemap{width:100%;height:auto}
.treemap rect{fill:var(--other);stroke:var(--paper)}
.treemap .code rect{fill:var(--code)}.treemap .weights rect{fill:var(--weights)}
.treemap .data rect{fill:var(--data)}
[hidden]{display:none!important}
@media (max-width:47rem){
.treemap text{display:none}
}
@media (max-width:37rem){
body{font-size:15px}
h1{font-size:1.3rem}
.facts{grid-template-columns:1fr 1fr;gap:.5rem 1rem}
.tools label{flex-basis:100%;max-width:none}
table{width:max-content}
th,td{max-width:18rem}
tbody th{min-width:0;max-width:14rem}
}
@media print{
:root{--paper:#fff;--ink:#000;--faint:#444;--line:#bbb;--fill:#fff;--link:#000}
body{font-size:10pt}
.tools,nav{display:none}
details::details-content{content-visibility:visible;height:auto}
.scroll{overflow:visible}
h2,summary,tr{break-after:avoid}
tr,.module{break-inside:avoid}
table{font-size:8pt}
th,td{max-width:none;min-width:0;overflow-wrap:anywhere}
tbody th{min-width:0}
}
"""
"""What every page has; its digest stands in the page's policy."""

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
