/* The page of `make view`; page.js comes before it. */
"use strict";
const {runs, events, rows, pages} = daybefore;
const [RUN, EVENT, SAMPLE, STATUS, SCORE, VALUE, REASON, SECONDS, USD, TOKENS, REPLY] = Array(11).keys();
const SCORED = ["right", "partly right", "wrong", "not scored"];
const CLASSES = {"right": "right", "partly right": "partly", "wrong": "wrong", "not scored": "none"};
const filters = document.querySelector("#filters").elements;
const list = document.querySelector("#list"), life = document.querySelector("#life");

/* ------------------------------------------------------------------------------------------------ words of a row */
const style = status => CLASSES[status] || "missing";
const tag = status => make("span", {class: `tag ${style(status)}`}, status);
const shortName = run => [run.agent_id, run.run_id.split("-").at(-2), run.condition, run.origin].filter(Boolean).join(", ");
const nameRun = run => runs.filter(other => shortName(other) === shortName(run)).length > 1
  ? `${shortName(run)} (${run.run_id.split("-").at(-1)})` : shortName(run);
const repeat = sample => sample ? ` (answer ${sample + 1})` : "";  // of a run that asks each question several times
const linkQuestion = row => hash({event: events[row[EVENT]].event_id, run: runs[row[RUN]].run_id, sample: row[SAMPLE]});
/* ------------------------------------------------------------------------------------------------------- lists */
function countRuns() {
  const counts = runs.map(() => ({n: 0, seconds: 0, timed: 0, usd: 0, tokens: 0}));
  for (const row of rows) {
    const count = counts[row[RUN]], status = row[STATUS] in CLASSES ? row[STATUS] : "missing";
    count.n += 1;
    count[status] = (count[status] || 0) + 1;
    if (row[SECONDS] !== null) { count.seconds += row[SECONDS]; count.timed += 1; }
    count.usd += row[USD] || 0;
    count.tokens += row[TOKENS] || 0;
  }
  return counts;
}
const isLost = count => count.n > 0 && count.missing === count.n;
const cut = name => name.split(/(?<=[_-])/).flatMap((part, place) => place ? [make("wbr"), part] : [part]);  // where a line may end
function listRuns() {
  const counts = countRuns();
  const pick = (place, status, n) => n ? make("button", {class: "count", type: "button",
    "aria-label": `list ${n} ${status || "all"} of ${nameRun(runs[place])}`,
    onclick: () => setFilters({run: runs[place].run_id, status})}, String(n)) : "0";
  const counted = (title, status, key, least = "") => ({title, className: `dt-right ${least}`, type: "num",
    render: (_, type, run) => type === "display" ? pick(run.place, status, counts[run.place][key] || 0)
      : counts[run.place][key] || 0});
  const plain = (title, value, options = {}) => ({title, render: (_, type, run) =>
    type === "display" ? make("span", {}, String(value(run, counts[run.place]))) : value(run, counts[run.place]), ...options});
  new DataTable("#runs", {
    data: runs.map((run, place) => ({...run, place})),
    createdRow: (row, run) => row.classList.toggle("lost", isLost(counts[run.place])), paging: false, searching: false, info: false, order: [],
    autoWidth: false, columns: [
      {title: "run", render: (_, type, run) => type === "display" ? make("div", {}, ...cut(nameRun(run)),
        isLost(counts[run.place]) ? make("span", {class: "tag missing"}, "no answer: all missing") : null) : nameRun(run)},
      plain("model", run => run.model || run.framework || "", {className: "least"}),
      counted("asked", "", "n"), counted("missing", "missing", "missing"), counted("wrong", "wrong", "wrong"),
      counted("partly", "partly right", "partly right"), counted("right", "right", "right"),
      counted("not scored", "not scored", "not scored", "least"),
      plain("s a question", (_, c) => c.timed ? number(c.seconds / c.timed) : "", {className: "dt-right least", type: "num"}),
      plain("tokens", (_, c) => c.tokens || "", {className: "dt-right least", type: "num"}),
      plain("USD", (_, c) => c.usd ? number(c.usd, 4) : "", {className: "dt-right least", type: "num"}),
    ]});
}
function noteWidth() {  // a phone shows no bar until a finger moves
  const {scrollWidth, clientWidth} = document.querySelector("#runs").parentElement;
  document.querySelector("#sideways").hidden = scrollWidth <= clientWidth;
}
function listQuestions() {
  const cell = (title, value, options = {}) => ({title, searchable: false, render: (_, type, row) =>
    type === "display" ? value(row, true) : value(row, false), ...options,
    createdCell: td => { td.dataset.name = title; }});
  const words = (title, value, options) => cell(title, (row, shown) => shown ? make("span", {}, value(row)) : value(row), options);
  const ask = (row, shown) => shown ? make("div", {}, make("a", {href: linkQuestion(row)}, events[row[EVENT]].prompt.split("\n")[0]),
    make("span", {class: "id"}, events[row[EVENT]].event_id)) : events[row[EVENT]].prompt;
  const table = new DataTable("#questions", {
    data: rows, order: [], pageLength: 25, autoWidth: false, deferRender: true,
    layout: {topStart: null, topEnd: null, bottomStart: null, bottomEnd: "paging"},
    language: {zeroRecords: "No question meets the filters.", emptyTable: "No questions."},
    columns: [
      {...cell("question", ask, {width: "35%", type: "string"}), createdCell: null},
      words("agent", row => runs[row[RUN]].agent_id + repeat(row[SAMPLE]), {width: "15%", type: "string"}),
      words("level", row => String(events[row[EVENT]].level ?? ""), {width: "7%", type: "string"}),
      cell("status", (row, shown) => shown ? tag(row[STATUS]) : row[STATUS], {width: "11%", type: "string"}),
      words("said", row => row[VALUE] || row[REASON] || "", {width: "14%", type: "string"}),
      words("answer", row => events[row[EVENT]].answer, {width: "12%", type: "string"}),
      {...words("score", row => number(row[SCORE]), {width: "7%", className: "dt-right number", type: "num"})},
    ]});
  const lower = events.map(event => `${event.event_id} ${event.prompt} ${event.domain || ""}`.toLowerCase());
  table.search.fixed("filters", (_, row) => {
    const run = runs[row[RUN]], status = filters.status.value, text = filters.text.value.trim().toLowerCase();
    return (!filters.agent.value || run.agent_id === filters.agent.value)
      && (!filters.run.value || run.run_id === filters.run.value)
      && (!filters.level.value || String(events[row[EVENT]].level ?? "none") === filters.level.value)
      && (!status || row[STATUS] === status || (status === "missing" && !(row[STATUS] in CLASSES)))
      && (!text || lower[row[EVENT]].includes(text)
        || `${run.agent_id} ${row[VALUE]} ${row[REASON] || ""} ${row[REPLY] || ""}`.toLowerCase().includes(text));
  });
  table.on("draw", () => {
    const n = table.rows({search: "applied"}).count();
    document.querySelector("#count").textContent = `${n.toLocaleString("en")} of ${rows.length.toLocaleString("en")} questions`;
  });
  return table;
}

/* ------------------------------------------------------------------------------------------------------ filters */
function fillFilters() {
  const fill = (name, options) => filters[name].append(make("option", {value: ""}, "all"),
    ...options.map(([value, text]) => make("option", {value}, text)));
  const unique = values => [...new Set(values)].sort();
  const missing = unique(rows.map(row => row[STATUS]).filter(status => !(status in CLASSES)));
  fill("agent", unique(runs.map(run => run.agent_id)).map(name => [name, name]));
  fill("run", runs.map(run => [run.run_id, nameRun(run)]));
  fill("level", unique(events.map(event => String(event.level ?? "none"))).map(name => [name, name]));
  fill("status", [...SCORED.map(name => [name, name]), ["missing", "missing (any)"], ...missing.map(name => [name, name])]);
}
function setFilters(fields) {
  for (const name of ["text", "agent", "run", "level", "status"]) filters[name].value = fields[name] || "";
  noteFilters();
  document.querySelector("#questions-title").scrollIntoView();
}
function noteFilters() {
  const given = ["text", "agent", "run", "level", "status"].filter(name => filters[name].value);
  history.replaceState(null, "", hash(given.map(name => [name, filters[name].value])));
  table.draw();
  searchReplies();
}
async function searchReplies() {  // the replies are read when the first word is looked for
  if (!filters.text.value || "replies" in opened) return;
  const said = document.querySelector("#searched");
  said.hidden = false;
  said.textContent = "Reading the replies ...";
  try {
    (await load("replies")).forEach((text, place) => { rows[place][REPLY] = text; });
    said.textContent = `Of each reply the first ${daybefore.n_searched.toLocaleString("en")} characters are searched; `
      + "daybefore view --json --text WORDS searches all of it, and the steps.";
    table.draw(list.hidden ? "page" : true);
  } catch (error) { said.textContent = error.message; }
}

/* ------------------------------------------------------------------------------------------- one question's life */
function tellPage(page) {
  const facts = pages[page.page_id] || {how: "not kept"}, box = make("div");
  const role = [page.role, page.is_cited ? "named in the reply" : ""].filter(Boolean).join(", ");
  box.append(describe([["address", facts.url], ["published", moment(facts.published_at)], ["text", facts.how]]));
  const details = fold("page", `${facts.title || page.page_id}${role ? ` (${role})` : ""}`, box);
  details.ontoggle = async () => {
    if (!details.open || details.dataset.seen || !facts.file) return;
    details.dataset.seen = "yes";
    await tell(box, async () => {
      const text = await load(facts.file), isHtml = !(facts.content_type || "").includes("json");
      const pre = make("pre", {tabindex: "0"}, isHtml ? readWords(text) : text);
      if (isHtml) box.append(make("button", {type: "button", onclick: event => {
        const isSource = event.target.textContent === "source";
        pre.textContent = isSource ? text : readWords(text);
        event.target.textContent = isSource ? "words" : "source";
      }}, "source"));
      box.append(pre);
    });
  };
  return details;
}
function readWords(source) {  // a document of DOMParser runs no script and loads nothing
  const page = new DOMParser().parseFromString(source, "text/html");
  page.querySelectorAll("script,style,head").forEach(element => element.remove());
  page.querySelectorAll("td,th").forEach(element => element.nextElementSibling && element.append(" | "));
  page.querySelectorAll("tr,p,li,h1,h2,h3,div,section,article,footer,br").forEach(element => element.append("\n"));
  return page.body.textContent.split("\n").map(line => line.trim()).join("\n").replace(/\n{3,}/g, "\n\n").trim();
}
function tellStep(step, isOpen) {
  const kind = [step.actor, step.step_type === "tool" ? step.tool : step.step_type].filter(Boolean).join(" · ");
  const asked = step.arguments && (step.arguments.query || step.arguments.address || step.arguments.source_id
    || step.arguments.task || JSON.stringify(step.arguments));
  const said = String(step.error || asked || step.content || "").replace(/\s+/g, " ").slice(0, 110);
  const used = [step.duration_s && `${number(step.duration_s)} s`, step.n_input_tokens && `${step.n_input_tokens} tokens in`,
    step.n_output_tokens && `${step.n_output_tokens} out`].filter(Boolean).join(", ");
  return fold(kind, said, [used ? make("p", {class: "dim"}, used) : null,
    step.arguments ? make("pre", {}, Object.entries(step.arguments).map(([name, value]) => `${name}: ${show(value)}`).join("\n")) : null,
    step.content ? make("pre", {tabindex: "0"}, step.content) : null,
    step.error ? make("p", {class: "tag missing"}, step.error) : null,
    ...(step.page_ids || []).map(page_id => tellPage({page_id}))], isOpen);
}
function tellReply(question) {
  const {reply, prediction} = question, isBaseline = !question.steps.some(step => step.step_type === "model");
  const said = reply.reply ? make("pre", {tabindex: "0"}, reply.reply) : make("p", {}, `No reply (${reply.status || "none"}): ${reply.reason || "no reason was given"}.`);
  const read = isBaseline && !prediction.parser_version ? "no reading: a rule's reply is its prediction, as JSON"
    : prediction.status === "ok" ? `as a prediction (parser ${prediction.parser_version || "unknown"})`
      : `not as a prediction: ${prediction.status}, ${prediction.reason || "no reason"}`;
  return [make("h2", {}, "Reply"), said,
    describe([["ended", reply.finish_reason], ["seconds", question.duration_s && number(question.duration_s)],
      ["tokens", reply.n_input_tokens && `${reply.n_input_tokens} in, ${reply.n_output_tokens || 0} out`], ["USD", reply.cost_usd]]),
    make("h2", {}, "How it was read"),
    describe([["read", read], ["value", prediction.value], ["probability that it is right", prediction.probability],
      ["distribution", prediction.distribution && JSON.stringify(prediction.distribution)],
      ["5% to 95%", prediction.interval_low !== undefined ? `${prediction.interval_low} to ${prediction.interval_high}` : ""],
      ["reasons", prediction.rationale]])];
}
function tellScore(told, question) {
  const {event, answer} = told;
  const scores = make("table", {class: "plain"}, make("tbody", {}, ...question.scores.map(score => make("tr", {},
    make("th", {scope: "row"}, score.metric), make("td", {class: "number"}, score.score === undefined ? (score.reason || "missing") : number(score.score, 4))))));
  return [make("h2", {}, "Answer"),
    describe([["answer", show(answer.value ?? `none (${answer.status || "never asked"})`) + (event.options?.[answer.value] ? ` (${event.options[answer.value]})` : "")],
      ["acquired", moment(answer.acquired_at)], ["spread of the days before", answer.spread], ["settled by", event.resolution_criteria]]),
    answer.page_id ? tellPage({page_id: answer.page_id, role: "the answer was read here"}) : null,
    make("h2", {}, "Score"), scores];
}
function tellOthers(told, here) {
  const line = question => make("tr", question === here ? {class: "here"} : {}, make("td", {},
    make("a", {href: hash({event: told.event.event_id, run: question.run_id, sample: question.sample})}, nameRun(runs.find(run => run.run_id === question.run_id)) + repeat(question.sample))),
    make("td", {}, tag(question.outcome)), make("td", {}, question.value === undefined ? (question.reason || "") : show(question.value)),
    make("td", {class: "number"}, number(question.score)));
  return [make("h2", {}, "Every run on this question"), make("div", {class: "wide"}, make("table", {class: "plain many"}, make("tbody", {}, ...told.questions.map(line))))];
}
function walk(row) {
  const order = table.rows({search: "applied", order: "applied"}).indexes().toArray(), place = order.indexOf(rows.indexOf(row));
  const step = (way, text) => order[place + way] === undefined || place < 0 ? null : make("a", {href: linkQuestion(rows[order[place + way]])}, text);
  const given = ["text", "agent", "run", "level", "status"].filter(name => filters[name].value);
  return make("nav", {"aria-label": "questions"}, make("a", {href: hash(given.map(name => [name, filters[name].value]))}, "\u2190 list"),
    step(-1, "previous"), step(1, "next"), place < 0 ? null : make("span", {class: "dim"}, `${place + 1} of ${order.length}`));
}
function jump() {
  const titles = ["Reply", "How it was read", "Answer", "Score", "Every run on this question"];
  const go = title => [...life.querySelectorAll("h2")].find(head => head.textContent === title).scrollIntoView();
  return make("p", {class: "jump"}, "Below: ", ...titles.map(title =>
    make("button", {class: "count", type: "button", onclick: () => go(title)}, title)));
}
function tellLife(told, question, row) {
  const {event} = told, steps = question.steps, seen = steps.flatMap(step => step.page_ids || []);
  const other = question.pages.filter(page => !seen.includes(page.page_id));
  const as_of = question.prediction.as_of || event.as_of;
  const [ask, ...rest] = event.prompt.split("\n");
  life.append(walk(row), make("h1", {tabindex: "-1"}, ask), make("p", {class: "rest"}, rest.join("\n")),
    make("p", {class: "dim"}, `${event.event_id} · ${nameRun(runs[row[RUN]])}${repeat(row[SAMPLE])} · level ${event.level ?? "none"} · ${event.kind} · asked as of ${moment(as_of)} · decided ${moment(event.resolves_at)}`),
    make("p", {class: `why ${style(question.outcome)}`}, tag(question.outcome), ` ${question.why}`),
    jump(), make("h2", {}, "What it was asked, did and saw"),
    steps.length ? make("p", {class: "hint"}, `${steps.length} steps; pages as they stood before ${moment(as_of)}.`) : make("p", {class: "hint"}, "No step was recorded."),
    ...steps.map(step => tellStep(step, Boolean(step.error) && step.step_type !== "answer")), ...other.map(tellPage),
    ...tellReply(question), ...tellScore(told, question).filter(Boolean), ...tellOthers(told, question),
    fold("event", "all that is known of it", describe(Object.entries(event).map(([name, value]) => [name, show(value)]))));
}
async function openLife(fields) {
  const place = events.findIndex(event => event.event_id === fields.get("event"));
  const row = rows.find(row => row[EVENT] === place && runs[row[RUN]].run_id === fields.get("run") && String(row[SAMPLE]) === fields.get("sample"));
  life.replaceChildren();
  await tell(life, async () => {
    if (!row) throw new Error("This question is not on the page; make view again, or go back to the list.");
    const told = await load(events[place].file);
    tellLife(told, told.questions.find(q => q.run_id === fields.get("run") && String(q.sample) === fields.get("sample")), row);
  });
  life.querySelector("h1")?.focus({preventScroll: true});
  window.scrollTo(0, 0);
}

/* ------------------------------------------------------------------------------------------------------- the page */
let scrolled = 0;
async function route() {
  const fields = new URLSearchParams(location.hash.slice(1)), isLife = fields.has("event");
  if (isLife && !list.hidden) scrolled = window.scrollY;
  const wasLife = list.hidden;
  list.hidden = isLife;
  life.hidden = !isLife;
  if (isLife) await openLife(fields);
  else {
    for (const name of ["text", "agent", "run", "level", "status"]) filters[name].value = fields.get(name) || "";
    table.draw(wasLife ? "page" : true);
    noteWidth();
    searchReplies();
    if (wasLife) window.scrollTo(0, scrolled);
  }
  document.documentElement.dataset.shown = location.hash || "#";
}
document.querySelector("#total").textContent = `${runs.length} runs, ${events.length.toLocaleString("en")} events, ${rows.length.toLocaleString("en")} questions`;
document.querySelector("#empty").hidden = rows.length > 0;
for (const section of document.querySelectorAll("#list section")) section.hidden = rows.length === 0;
fillFilters();
listRuns();
window.addEventListener("resize", noteWidth);
const table = listQuestions();
document.querySelector("#filters").oninput = noteFilters;
document.querySelector("#filters").onsubmit = event => event.preventDefault();
document.querySelector("#filters").onreset = () => setTimeout(noteFilters);
window.onhashchange = route;
route().then(() => { document.documentElement.dataset.ready = Math.round(performance.now()); });
