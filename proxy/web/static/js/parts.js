// Small parts that several sections are made of: badges, tiles, notes, bars.

import { h, prose, reconcile, set, svg, text } from "./dom.js";

const DRAWINGS = {
  healthy: ["M8 1a7 7 0 1 0 0 14A7 7 0 0 0 8 1Z", "m4.8 8.3 2.2 2.2 4.3-4.6"],
  attention: ["M8 1a7 7 0 1 0 0 14A7 7 0 0 0 8 1Z", "M8 7.2v4M8 4.6v.2"],
  degraded: ["M8 1.6 15 14H1L8 1.6Z", "M8 6.2v3.6M8 11.9v.1"],
  critical: ["M5.1 1h5.8L15 5.1v5.8L10.9 15H5.1L1 10.9V5.1L5.1 1Z", "m5.7 5.7 4.6 4.6m0-4.6-4.6 4.6"],
};
const WORDS = { healthy: "Healthy", attention: "Attention", degraded: "Degraded", critical: "Critical" };
const DRAWN_AS = { info: "attention", warning: "degraded", error: "critical" };

export const LEVELS = ["healthy", "attention", "degraded", "critical"];

export function levelWord(level) {
  return WORDS[level] ?? String(level);
}

/** A level's drawing: each has a shape of its own, so that nobody depends on its colour. */
export function drawing(level) {
  const paths = DRAWINGS[DRAWN_AS[level] ?? level] ?? DRAWINGS.attention;
  return svg(
    "svg",
    {
      viewBox: "0 0 16 16",
      fill: "none",
      stroke: "currentColor",
      "stroke-width": 1.5,
      "stroke-linecap": "round",
      "stroke-linejoin": "round",
      "aria-hidden": "true",
      focusable: "false",
    },
    ...paths.map((path) => svg("path", { d: path })),
  );
}

/** A badge in `place` (a cell, a note), made or changed. */
export function badge(place, level, words = levelWord(level)) {
  let element = place.querySelector(":scope > .badge");
  if (!element) {
    element = h("span.badge", {}, h("span"));
    place.append(element);
  }
  if (element.dataset.level !== level) {
    element.querySelector("svg")?.remove();
    if (level in WORDS || level in DRAWN_AS) element.prepend(drawing(level));
    set(element, "data-level", level);
  }
  text(element.querySelector("span"), words);
}

/** Tiles in a dl: { name, figure, under, hue, share }. */
export function tiles(place, items, kind = "div.panel.tile") {
  reconcile(
    place,
    items,
    (item) => item.name,
    (item) =>
      h(
        kind,
        {},
        h("dt", {}, item.hue ? h("span.key", { "data-hue": item.hue }) : null, item.name),
        h("dd.figure"),
        h("dd.under"),
      ),
    (element, item) => {
      text(element.children[1], item.figure);
      text(element.children[2], item.under ?? "");
      const bar = element.querySelector(".bar");
      if (item.share === undefined) return;
      if (bar) width(bar.firstChild, item.share);
      else element.append(h("dd", { "aria-hidden": "true" }, filled(item.share)));
    },
  );
}

function filled(share) {
  const part = h("span");
  width(part, share);
  return h("div.bar", {}, part);
}

/** Notes in a ul: { key, level, badge, words, remedy, about }. */
export function notes(place, items) {
  reconcile(
    place,
    items,
    (item) => item.key,
    () => h("li.note", {}, h("span.badge", {}, h("span")), h("span.words"), h("span.about"), h("span.remedy")),
    (element, item) => {
      badge(element, item.level, item.badge);
      text(element.querySelector(".words"), item.words);
      prose(element.querySelector(".remedy"), item.remedy ?? "");
      text(element.querySelector(".about"), item.about ?? "");
    },
  );
}

/** What the browser's tab says: all that is seen of a page behind others. */
export function entitle(...words) {
  const title = [...words, "Isthmus"].filter(Boolean).join(" · ");
  if (document.title !== title) document.title = title;
}

/** Beside a place's heading: why its figures are older than they should be; nothing if they are not. */
export function stale(place, words) {
  const heading = place.querySelector("h2, h3");
  if (!heading.querySelector(".stale")) heading.append(h("span.stale", { hidden: true }));
  const mark = heading.querySelector(".stale");
  text(mark, words && ` ${words}`);
  set(mark, "hidden", !words);
  set(place, "data-stale", words !== "");
}

/** A share of 0 to 1 as an element's width. By the object model: the page's policy allows no style attributes. */
export function width(element, share) {
  const bounded = Math.max(0, Math.min(1, Number.isFinite(share) ? share : 0));
  const wanted = `${(bounded * 100).toFixed(2)}%`;
  if (element.style.width !== wanted) element.style.width = wanted;
}

/** Shares beside each other in a bar: { hue, share }. Figures stand beside it, so it is hidden from readers. */
export function stack(place, parts) {
  let element = place.querySelector(":scope > .stack");
  if (!element) {
    element = h("div.stack", { "aria-hidden": "true" });
    place.append(element);
  }
  reconcile(
    element,
    parts,
    (part) => part.hue,
    (part) => h("span.part", { "data-hue": part.hue }),
    (child, part) => width(child, part.share),
  );
}

/** The options of a select: kept up to date without losing the choice. Entries are text, or [value, text]. */
export function options(select, first, entries) {
  const wanted = [first, ...entries].map((entry) => (Array.isArray(entry) ? entry : [entry, entry]));
  if (select.value && !wanted.some(([value]) => value === select.value)) wanted.push([select.value, select.value]);
  reconcile(
    select,
    wanted,
    ([value]) => value,
    ([value]) => h("option", { value }),
    (element, [, words]) => text(element, words),
  );
}
