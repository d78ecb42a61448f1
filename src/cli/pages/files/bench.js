'use strict';
// The table of tasks: sorted by a column, filtered by words, folder and result.
(() => {
  const table = document.getElementById('tasks');
  if (!table) return;
  const body = table.tBodies[0], rows = [...body.rows], byId = id => document.getElementById(id);
  const heads = [...table.tHead.rows[0].cells];
  let column = -1, up = true;

  const value = (row, i) => {
    const text = row.cells[i].dataset.v;
    return text === undefined ? row.cells[i].textContent : text === '' ? null : Number(text);
  };
  // Rows that have no value stay below, whichever way.
  const compare = (a, b) => {
    const x = value(a, column), y = value(b, column);
    if (x === null || y === null) return (x === null) - (y === null);
    return (typeof x === 'string' ? x.localeCompare(y, undefined, {numeric: true}) : x - y) * (up ? 1 : -1);
  };
  const sort = (i, ascending) => {
    column = i;
    up = ascending;
    body.append(...(column < 0 ? rows : [...rows].sort(compare)));
    heads.forEach((head, k) => head.setAttribute('aria-sort', k !== column ? 'none' : up ? 'ascending' : 'descending'));
    byId('sort').value = String(column);
    byId('direction').textContent = up ? '↑ ascending' : '↓ descending';
  };
  const filter = () => {
    const words = byId('filter').value.toLowerCase().split(/\s+/).filter(Boolean);
    const group = byId('group').value, result = byId('result').value;
    let shown = 0;
    for (const row of rows) {
      const text = row.textContent.toLowerCase();
      row.hidden = !words.every(word => text.includes(word)) || (group && row.dataset.group !== group) ||
          (result && !row.dataset.result.split(' ').includes(result));
      shown += !row.hidden;
    }
    const all = `${rows.length} ${rows.length === 1 ? 'task' : 'tasks'}`;
    byId('shown').textContent = shown === rows.length ? all : `${shown} of ${all}`;
  };
  heads.forEach((head, i) => {
    const button = head.querySelector('button');
    if (button) button.onclick = () => sort(i, column === i ? !up : true);
  });
  byId('sort').onchange = event => sort(Number(event.target.value), up);
  byId('direction').onclick = () => sort(column, !up);
  for (const id of ['filter', 'group', 'result']) byId(id).oninput = filter;
  sort(-1, true);
  filter();
})();
