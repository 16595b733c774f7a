// Elements, made and kept up to date. Whatever comes from outside becomes text, never markup: nothing here, and nothing
// that uses it, parses a string (the page's policy forbids it, too).

const SVG = "http://www.w3.org/2000/svg";

/** An element with attributes and children; strings and numbers become text, null and false nothing. */
export function h(tag, attributes = {}, ...children) {
  const [name, ...classes] = tag.split(".");
  const element = document.createElement(name);
  if (classes.length) element.className = classes.join(" ");
  return fill(element, attributes, children);
}

/** Likewise of a drawing. */
export function svg(name, attributes = {}, ...children) {
  return fill(document.createElementNS(SVG, name), attributes, children);
}

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) set(element, name, value);
  element.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

/** Set an attribute if it differs; null or false removes it. `on...` adds a listener. */
export function set(element, name, value) {
  if (name.startsWith("on")) {
    element.addEventListener(name.slice(2), value);
  } else if (value === null || value === undefined || value === false) {
    if (element.hasAttribute(name)) element.removeAttribute(name);
  } else {
    const text = value === true ? "" : String(value);
    if (element.getAttribute(name) !== text) element.setAttribute(name, text);
  }
}

/** Set an element's text if it differs, so that what a reader has selected or listens to stays. */
export function text(element, value) {
  const wanted = String(value);
  if (element.textContent !== wanted) element.textContent = wanted;
  return element;
}

/** Likewise of a sentence of ours: what stands in it between backquotes, a command or a key, is shown as code. */
export function prose(element, sentence) {
  const parts = sentence.split("`");
  if (element.textContent === parts.join("")) return;
  element.replaceChildren(...parts.map((part, at) => (at % 2 ? h("code", {}, part) : part)));
}

/** Make the children those of `items`, in order: kept by key, made by `make(item)`, told by `update(element, item)`. */
export function reconcile(parent, items, keyOf, make, update) {
  const keys = distinct(items.map((item) => String(keyOf(item))));
  for (const child of [...parent.children]) if (!keys.has(child.dataset.key)) child.remove();
  const old = new Map([...parent.children].map((child) => [child.dataset.key, child]));
  let next = parent.firstElementChild;
  [...keys].forEach((key, at) => {
    const element = old.get(key) ?? make(items[at]);
    element.dataset.key = key;
    update(element, items[at]);
    if (element === next) next = element.nextElementSibling;
    else parent.insertBefore(element, next);
  });
}

/** A set of as many keys: one that comes again is numbered. */
function distinct(keys) {
  const found = new Set();
  for (const key of keys) {
    let own = key;
    for (let number = 2; found.has(own); number += 1) own = `${key} ${number}`;
    found.add(own);
  }
  return found;
}

export function byId(id) {
  return document.getElementById(id);
}

/** What an answer should hold, or nothing of it: a site of another version may leave things out. */
export const list = (value) => (Array.isArray(value) ? value : []);
export const record = (value) => (value !== null && typeof value === "object" && !Array.isArray(value) ? value : {});
