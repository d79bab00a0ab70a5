/* What the pages of `make view` and `daybefore explore` share. Everything that a model, a page or a question said becomes text
   (textContent), never markup. */
"use strict";
/* ------------------------------------------------------------------------------------------------ building elements */
function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes))
    name === "onclick" || name === "ontoggle" ? (element[name] = value) : element.setAttribute(name, value);
  element.append(...children.filter(child => child !== null && child !== undefined));
  return element;
}
const number = (value, digits = 2) => value === undefined || value === null ? "" : value.toFixed(digits);
const hash = fields => "#" + new URLSearchParams(fields);
const moment = text => text && text.replace(/T(\d\d:\d\d):00\+08:00$/, " $1 (UTC+8)");
const show = value => typeof value === "string" ? value : Array.isArray(value) ? value.join(", ") : JSON.stringify(value, null, 1);
function describe(pairs) {
  const given = pairs.filter(([, value]) => value !== undefined && value !== null && value !== "");
  return make("dl", {}, ...given.flatMap(([name, value]) =>
    [make("dt", {}, name), make("dd", {}, value instanceof Node ? value : show(value))]));
}
function fold(kind, said, body, isOpen = false) {
  const details = make("details", isOpen ? {open: ""} : {}, make("summary", {}, make("span", {class: "kind"}, kind), said));
  details.append(...[body].flat().filter(Boolean));
  return details;
}

async function tell(box, work) {
  try { await work(); } catch (error) { box.append(make("p", {class: "tag missing"}, error.message)); }
}

/* ------------------------------------------------------------------------- what is opened: compressed scripts from disk */
const waiting = {}, opened = {};
async function receive(name, data) {
  const bytes = Uint8Array.from(atob(data), letter => letter.charCodeAt(0));
  const text = await new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).text();
  waiting[name].resolve(JSON.parse(text));
}
function load(name) {
  opened[name] ||= new Promise((resolve, reject) => {
    waiting[name] = {resolve};
    document.head.append(Object.assign(document.createElement("script"), {src: `${name}.js`, onerror: () =>
      reject(new Error(`${name}.js is not there; make the page again`))}));
  });
  return opened[name];
}

/* ------------------------------------------------------------------------------------------------------- colours */
const dark = matchMedia("(prefers-color-scheme: dark)"), follow = () => document.documentElement.classList.toggle("dark", dark.matches);
dark.onchange = follow;
follow();
