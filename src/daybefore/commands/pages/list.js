/* The lists of `make view`: sorted and searched by DataTables, and filtered by the values of some columns. */
"use strict";
for (const runs of document.querySelectorAll("table.runs")) new DataTable(runs, {paging: false, searching: false, info: false, order: [], autoWidth: false});
const heads = [...document.querySelectorAll("#questions th")];
const table = new DataTable("#questions", {order: [], pageLength: 25, autoWidth: false});
heads.forEach((head, place) => {
  if (!("filter" in head.dataset)) return;
  const column = table.column(place), select = document.createElement("select"), label = document.createElement("label");
  select.append(new Option(`all: ${head.textContent}`, ""), ...column.data().unique().sort().toArray().map(said => new Option(said, said)));
  select.onchange = () => column.search(select.value && `^${DataTable.util.escapeRegex(select.value)}$`, true, false).draw();
  label.append(select, " ");
  document.querySelector("#filters").append(label);
});
