/* The page of `daybefore explore`; page.js comes before it. Drawings are SVG; what they show stands in tables below them too. */
"use strict";
const {questions, origins} = daybefore;
const filters = document.querySelector("#filters").elements;
const list = document.querySelector("#list"), life = document.querySelector("#life");
const date = day => day === null || day === undefined ? "undated" : new Date(day * 864e5).toISOString().slice(0, 10);
const signs = {Positive: "up", Negative: "down"};
const side = node => node.impact ? signs[node.impact.direction] || "even" : "none";
const LEFT = 44, RIGHT = 44, BASE = 24, narrow = matchMedia("(max-width: 640px)");
let WIDTH = 900, N_TICKS = 5;  // fewer on a narrow page, so that words stay readable
const many = (n, word) => `${n} ${word}${n === 1 ? "" : "s"}`, count = n => many(n, "question");
const when = value => typeof value === "string" ? moment(value).replace(/T(\d\d:\d\d)(:[\d.]+)?(\+00:00|Z)$/, " $1 (UTC)") : value;
const readDay = text => Date.parse((text || "").slice(0, 10)) / 864e5;  // the day that a moment in text names, NaN of none

/* ------------------------------------------------------------------------------------------------------- drawing */
function draw(tag, attributes = {}, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children.filter(Boolean));
  return element;
}
const write = (x, y, text, more = {}) => draw("text", {x, y, ...more}, text);
const hint = text => draw("title", {}, text);
function place(told, days) {  // from the opening to the end of a question, and all days of what is drawn -> a scale of whole days
  const all = [...days, readDay(told.opens_at), readDay(told.resolves_at)].filter(Number.isFinite), first = Math.floor(Math.min(...all));
  const ends = [first, Math.max(Math.ceil(Math.max(...all)), first + 1)];
  return {ends, x: at => LEFT + (WIDTH - LEFT - RIGHT) * (at - ends[0]) / (ends[1] - ends[0])};
}
function drawDays(scale, height) {
  const [first, last] = scale.ends;
  const ticks = new Set(Array.from({length: N_TICKS}, (_, at) => Math.round(first + (last - first) * at / (N_TICKS - 1))));
  return [...ticks].map(at => draw("g", {}, draw("line", {x1: scale.x(at), x2: scale.x(at), y1: 8, y2: height - BASE, class: "grid"}),
    write(scale.x(at), height - 6, date(at), {"text-anchor": "middle"})));
}
const isYesNo = told => ["Yes", "No"].includes(told.answer) || told.facts.options === "Yes, No";
function drawPressure(told) {
  const days = [...told.pressure.map(row => row.day), ...told.prices.map(([day]) => day)];
  if (!days.length) return [make("p", {class: "hint"}, "No event has an impact, and there is no price.")];
  const height = 260, scale = place(told, days), most = Math.max(0.5, ...told.pressure.map(row => Math.abs(row.pressure)));
  const middle = (height - BASE + 8) / 2, half = middle - 14, y = value => middle - half * value / most;
  const price = value => height - BASE - (height - BASE - 8) * value;
  let steps = `M ${LEFT} ${y(0)}`;
  for (const row of told.pressure) steps += ` H ${scale.x(row.day)} V ${y(row.pressure)}`;
  const dots = told.pressure.map(row => {
    const node = told.nodes.find(one => one.node_id === row.node_id);
    return draw("circle", {cx: scale.x(row.day), cy: y(row.push), r: node.is_key ? 6 : 4, class: side(node)}, hint(`${date(row.day)} ${node.title}`));
  });
  const marks = told.turns.map(day => draw("line", {x1: scale.x(day), x2: scale.x(day), y1: 8, y2: height - BASE, class: "turn"}, hint(`turning point ${date(day)}`)));
  const line = told.prices.map(([day, value], at) => `${at ? "L" : "M"} ${scale.x(day)} ${price(value)}`).join(" ");
  const words = `${many(told.pressure.length, "event")} with an impact, pressure at the end ${number(told.pressure.at(-1)?.pressure ?? 0)}; `
    + (told.prices.length ? `price from ${number(told.prices[0][1])} to ${number(told.prices.at(-1)[1])}` : "no price");
  return [draw("svg", {viewBox: `0 0 ${WIDTH} ${height}`, role: "img", "aria-label": words, class: "chart"}, ...drawDays(scale, height), ...marks,
    draw("line", {x1: LEFT, x2: WIDTH - RIGHT, y1: y(0), y2: y(0), class: "zero"}),
    line ? draw("path", {d: line, class: "price"}) : null, draw("path", {d: `${steps} H ${WIDTH - RIGHT}`, class: "steps"}), ...dots,
    write(4, 14, number(most, 1)), write(4, middle, "0"), ...(line ? [write(WIDTH - RIGHT + 6, 14, "1"), write(WIDTH - RIGHT + 6, height - BASE, "0")] : [])),
  make("p", {class: "hint"}, `Dots: an event's push ${isYesNo(told) ? "towards Yes (green) or No (red)" : "up (green) or down (red)"}, large ones are key events; steps: their sum (left scale). `
    + (line ? "Blue: the price (right scale); dashed: its turning points." : "There is no price."))];
}
function drawGraph(told) {
  const names = Object.keys(told.layout);
  if (!names.length) return [make("p", {class: "hint"}, "No edge passes the published thresholds, so there is no graph to draw.")];
  const lanes = 1 + Math.max(...names.map(name => told.layout[name][1])), height = BASE + 20 + 34 * lanes, scale = place(told, names.map(name => told.layout[name][0]));
  const at = name => [scale.x(told.layout[name][0]), 22 + 34 * told.layout[name][1]];
  const title = name => told.nodes.find(node => node.node_id === name).title;
  const isPlaced = edge => edge.cause in told.layout && edge.effect in told.layout;  // an undated event has no place
  const edges = told.edges.filter(edge => edge.is_kept && isPlaced(edge)).map(edge => {
    const [x1, y1] = at(edge.cause), [x2, y2] = at(edge.effect), bend = y1 === y2 ? -16 : 0;
    return draw("path", {d: `M ${x1} ${y1} Q ${(x1 + x2) / 2} ${(y1 + y2) / 2 + bend} ${x2} ${y2}`, "stroke-width": 1 + 3 * Math.abs(edge.strength),
      "marker-end": "url(#arrow)", class: edge.relation === "Correlates" ? "edge plain" : edge.strength < 0 ? "edge down" : "edge up"},
    hint(`${title(edge.cause)} ${edge.relation} ${title(edge.effect)}`));
  });
  const dots = names.map(name => {
    const node = told.nodes.find(one => one.node_id === name), [cx, cy] = at(name);
    return draw("circle", {cx, cy, r: node.is_outcome ? 9 : node.is_key ? 7 : 5, class: node.is_outcome ? "outcome" : side(node)}, hint(`${date(node.day)} ${node.title}`));
  });
  const arrow = draw("marker", {id: "arrow", viewBox: "0 0 8 8", refX: 13, refY: 4, markerWidth: 9, markerHeight: 9, orient: "auto", markerUnits: "userSpaceOnUse"},
    draw("path", {d: "M 0 0 L 8 4 L 0 8 z"}));
  return [draw("svg", {viewBox: `0 0 ${WIDTH} ${height}`, role: "img", class: "chart", "aria-label": `${many(names.length, "event")} joined by ${many(edges.length, "edge")}`},
    draw("defs", {}, arrow), ...drawDays(scale, height), ...edges, ...dots),
  make("p", {class: "hint"}, "Edges that pass the thresholds, from cause to effect, by date; grey: they only correlate; the ringed one is the outcome.")];
}

/* ------------------------------------------------------------------------------------------------------- tables */
const row = cells => make("tr", {}, ...cells.map(cell => typeof cell !== "string" ? make("td", {}, cell ?? "")
  : cell.length <= SHORT ? make("td", {class: "short"}, ...split(cell)) : make("td", {class: "long"}, cell)));
const SHORT = 24;  // letters of a cell whose words are never broken
const split = text => text.split(" ").flatMap((word, at) => [at ? " " : "", make("span", {class: "one"}, word)]);
function table(heads, rows) {  // a column in which no row says anything is left out
  const blank = heads.map((_, at) => at).filter(at => rows.every(line => !line.cells[at].textContent)).reverse();
  const head = make("tr", {}, ...heads.map(name => make("th", {scope: "col"}, name)));
  for (const line of [head, ...rows]) for (const at of blank) line.deleteCell(at);
  return make("div", {class: "wide"}, make("table", {class: head.cells.length > 4 ? "plain many" : "plain"}, make("thead", {}, head), make("tbody", {}, ...rows)));
}
function tellEvents(told) {
  const moved = Object.fromEntries(told.moves.map(move => [move.node_id, `${number(move.move)} ${move.agrees ? "(agrees)" : "(against)"}`]));
  const impact = node => node.impact ? `${node.impact.direction}, ${number(node.impact.magnitude)} x ${number(node.impact.confidence)}` : "";
  const rows = told.nodes.map(node => row([date(node.day), make("div", {}, node.title, fold("more", "",
    [make("p", {}, node.description || ""), make("p", {}, node.impact?.reasoning || ""), make("pre", {}, node.source_ids.join("\n") || "no source")])),
  [node.is_outcome ? "outcome" : "", node.is_key ? "key event" : "", node.type || ""].filter(Boolean).join(", "), impact(node),
  moved[node.node_id] || "", node.review || ""]));
  return [make("h2", {}, "Events"), table(["day", "event", "what", "impact: m x c", "price moved", "review"], rows)];
}
function tellEdges(told) {
  if (!told.edges.length) return [];
  const title = name => told.nodes.find(node => node.node_id === name).title;
  const rows = told.edges.map(edge => row([title(edge.cause), edge.relation, title(edge.effect), number(edge.strength), number(edge.confidence),
    edge.is_kept ? "" : "left out: too weak or unsure", edge.reasoning || ""]));
  return [fold("edges", `${told.edges.length}, of which ${told.edges.filter(edge => edge.is_kept).length} pass`,
    table(["cause", "relation", "effect", "strength", "confidence", "", "reasoning"], rows))];
}
function tellForecasts(told) {
  if (!told.forecasts.length) return [make("h2", {}, "Forecasts"), make("p", {class: "hint"}, "No forecast of this question is at hand.")];
  const title = name => told.nodes.find(node => node.node_id === name)?.title;
  const rows = told.forecasts.map(one => row([make("div", {class: "short"}, one.agent, one.said ? fold("graph", `${many(one.said.length, "event")}, ${one.said.filter(event => event.matches).length} match`,
    table(["day", "event", "matches"], one.said.map(event => row([date(event.day), event.text, title(event.matches) || ""])))) : null),
  typeof one.as_of === "number" ? date(one.as_of) : when(one.as_of), one.value === undefined ? "" : show(one.value), number(one.probability),
  one.outcome || "", number(one.score), one.rationale || one.reason || "",
  one.pages?.length ? fold("pages", `${one.pages.length} read, ${one.pages.filter(page => page.is_cited).length} named`,
    table(["page", "named"], one.pages.map(page => row([page.page_id, page.is_cited ? "yes" : ""])))) : ""]));
  return [make("h2", {}, "Forecasts"), table(["agent", "as of", "said", "probability", "outcome", "score", "reasons", "pages"], rows)];
}
function tellQuestion(told) {
  const check = told.check, lacks = check.is_valid ? "passes the published thresholds" : `is left out: ${check.reasons.split(" ").join(", ")}`;
  life.append(make("nav", {}, make("a", {href: "#"}, "\u2190 list")), make("h1", {tabindex: "-1"}, told.title),
    make("p", {class: `why ${told.origin}`}, make("b", {}, `${told.origin}: `), origins[told.origin]),
    describe([["answer", told.answer === null ? "none" : show(told.answer)], ["opens", when(told.opens_at)], ["ends", when(told.resolves_at)], ["id", told.question_id],
      ...Object.entries(told.facts).map(([name, value]) => [name, when(value)]), ["graph, checked", `${lacks} (${many(check.n_nodes, "event")}, ${many(check.n_edges, "edge")}, ${many(check.n_articles, "source")}, depth ${check.depth})`],
      ["lead changes", told.leads.map(([day, name]) => `${date(day)} to ${name}`).join(", ")]]),
    ...(told.explanation ? [fold("explanation", "in hindsight", make("pre", {tabindex: "0"}, told.explanation))] : []),
    make("h2", {}, told.prices.length ? "Events against the price" : "Events and their push"), ...drawPressure(told), make("h2", {}, "Causal graph"), ...drawGraph(told),
    ...tellEdges(told), ...tellForecasts(told), ...tellEvents(told));
}

/* ------------------------------------------------------------------------------------------------------- the page */
function listQuestions() {
  const cell = (title, value, options = {}) => ({title, type: "string", searchable: false, render: (_, type, one) => type === "display" ? make("span", {}, String(value(one) ?? "")) : value(one),
    ...options});
  const sum = (title, name) => cell(title, one => one[name] || "", {className: "dt-right", type: "num", width: "8%"});
  const titles = ["question", "origin", "answer", "events", "edges", "prices", "forecasts"];
  const found = new DataTable("#questions", {
    createdRow: line => [...line.cells].slice(1).forEach((td, at) => { td.dataset.name = titles[at + 1]; td.classList.toggle("blank", !td.textContent); }), data: questions, order: [], pageLength: 25, autoWidth: false, layout: {topStart: null, topEnd: null, bottomStart: null, bottomEnd: "paging"},
    language: {zeroRecords: "No question meets the filters.", emptyTable: "No questions."},
    columns: [{title: "question", width: "38%", type: "string", searchable: false, render: (_, type, one) => type === "display" ? make("div", {},
      make("a", {href: hash({question: one.question_id})}, one.title), make("span", {class: "id"}, one.question_id)) : `${one.title} ${one.question_id}`},
    cell("origin", one => one.origin, {width: "10%"}), cell("answer", one => one.answer, {width: "12%"}),
    sum("events", "n_nodes"), sum("edges", "n_edges"), sum("prices", "n_prices"), sum("forecasts", "n_forecasts")]});
  found.search.fixed("filters", (_, one) => (!filters.origin.value || one.origin === filters.origin.value)
    && `${one.title} ${one.question_id} ${one.answer}`.toLowerCase().includes(filters.text.value.trim().toLowerCase()));
  found.on("draw", () => {
    document.querySelector("#count").textContent = `${found.rows({search: "applied"}).count()} of ${count(questions.length)}`;
  });
  return found;
}
async function route() {
  [WIDTH, N_TICKS] = narrow.matches ? [400, 3] : [900, 5];
  const name = new URLSearchParams(location.hash.slice(1)).get("question"), isLife = name !== null;
  list.hidden = isLife;
  life.hidden = !isLife;
  life.replaceChildren();
  if (isLife) await tell(life, async () => {
    const chosen = questions.find(one => one.question_id === name);
    if (!chosen) throw new Error("This question is not on the page; make it again, or go back to the list.");
    tellQuestion(await load(chosen.file));
  });
  life.querySelector("h1")?.focus({preventScroll: true});
  window.scrollTo(0, 0);
  document.documentElement.dataset.shown = location.hash || "#";
}
const present = Object.keys(origins).filter(name => questions.some(one => one.origin === name));
document.querySelector("#origins").append(...present.map(name => make("p", {class: "hint"}, make("b", {}, `${name}: `), origins[name])));
filters.origin.append(make("option", {value: ""}, "all"), ...present.map(name => make("option", {value: name}, name)));
document.querySelector("#total").textContent = count(questions.length);
const listed = listQuestions();
listed.draw();
document.querySelector("#filters").oninput = () => listed.draw();
document.querySelector("#filters").onsubmit = event => event.preventDefault();
document.querySelector("#filters").onreset = () => setTimeout(() => listed.draw());
window.onhashchange = route;
narrow.onchange = route;
route().then(() => { document.documentElement.dataset.ready = Math.round(performance.now()); });
