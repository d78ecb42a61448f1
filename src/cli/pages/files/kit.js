'use strict';
// What the views share: elements, figures in words, tables, drawings.

// All text comes from models, candidates and strangers: it is set as text, without what controls or reverses it.
const printable = text => String(text).replace(/[\0-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, '?');

const maker = space => (tag, attributes, ...children) => {
  const out = document.createElementNS(space, tag);
  for (const [key, value] of Object.entries(attributes || {}))
    if (typeof value === 'function') out[key] = value;
    else if (value !== undefined && value !== null && value !== false) out.setAttribute(key, value);
  out.append(...children.flat(Infinity).filter(child => child || child === 0)
      .map(child => child instanceof Node ? child : printable(child)));
  return out;
};
const make = maker('http://www.w3.org/1999/xhtml'), draw = maker('http://www.w3.org/2000/svg');
const byId = id => document.getElementById(id);

// ---- figures, as the terminal has them
const significant = value => String(Number(value.toPrecision(3)));
const seconds = value =>
    value < 0 ? '−' + seconds(-value) : value === 0 ? '0 us' : value < 1e-3 ? significant(value * 1e6) + ' us'
    : value < 1 ? significant(value * 1e3) + ' ms' : value < 999.5 ? significant(value) + ' s'
    : value < 3600 ? Math.round(value / 60) + ' min' : significant(value / 3600) + ' h';
const nanoseconds = value => seconds(value * 1e-9);
const si = (value, unit = '', digits = 3) => {
  let step = 0;
  for (; Math.abs(value) >= 999.5 && step < 6; ++step) value /= 1000;
  const text = step === 0 && Number.isInteger(value) ? value : Math.abs(value) >= 1 ? value.toPrecision(digits) : value.toFixed(2);
  return `${text}${step || unit ? ' ' : ''}${step ? 'kMGTPE'[step - 1] : ''}${unit}`;
};
const bytes = value => si(value, 'B');
const percent = (share, digits = 0) => `${(100 * share).toFixed(digits)} %`;
const share = value => !value ? '' : value < 0.0005 ? '<0.1 %' : percent(value, 1);
const times = value => value.toFixed(2) + 'x';
const gain = (value, whole) => Math.abs(value) <= 1e-3 * whole ? '' : seconds(value);
const counted = (count, one, many = one + 's') => `${count.toLocaleString('en')} ${count === 1 ? one : many}`;
const baseName = path => String(path || '').replace(/\/+$/, '').split('/').pop();
const minute = utc => String(utc || '').slice(0, 16).replace('T', ' ');

// ---- parts of a page
// Only addresses below the page's own: no scheme, whoever wrote the name.
const link = (text, address) => /^[#\w.%/-]+$/.test(address || '') && !address.startsWith('/')
    ? make('a', {href: address}, text) : make('span', {}, text);
const note = (...text) => text.some(Boolean) && make('p', {class: 'note'}, text);
const section = (title, ...parts) => parts.flat().some(Boolean) ? [make('h2', {}, title), ...parts.flat().filter(Boolean)] : [];
const fold = (summary, ...parts) => make('details', {}, make('summary', {}, summary), parts);
const facts = all => make('div', {class: 'facts'}, all.filter(([value]) => value !== '' && value !== undefined && value !== '–')
    .map(([value, what]) => make('div', {}, make('b', {}, value), make('span', {}, what))));

// A cell is text, an element, or {text, sort, look}. A figure is sorted by its value, and empty where there is none.
const figure = (value, words = seconds) => ({text: value ? words(value) : '', sort: value || null});
const cellOf = cell => cell && typeof cell === 'object' && !(cell instanceof Node) ? cell : {text: cell};
const isEmpty = cell => !cell.text && cell.text !== 0;
const sortKey = cell => {
  if (cell.sort !== undefined) return cell.sort;
  return isEmpty(cell) ? null : cell.text instanceof Node ? cell.text.textContent : String(cell.text);
};

// Columns: a number stands to the right, words are a name that may wrap; a plain name is for what is short.
const number = (name, title) => ({name, look: 'n', title}), words = name => ({name, look: 'text'}),
      sentence = name => ({name, look: 'long'});
// A row is its cells, or {cells, attributes, last}: `last` stays below. Columns in which no row has anything are left out.
// `most`: so many rows at first, the rest by a button. `compact`: stays a table where the window is narrow.
// `fixed`: as it stands, without buttons to sort it by.
const table = (columns, rows, {most = Infinity, compact = false, fixed = false, id} = {}) => {
  columns = columns.map(column => typeof column === 'string' ? {name: column} : column);
  rows = rows.map(row => Array.isArray(row) ? {cells: row} : row).map(row => ({...row, cells: row.cells.map(cellOf)}));
  const shown = columns.map((_, i) => i).filter(i => i === 0 || rows.some(row => row.cells[i] && !isEmpty(row.cells[i])));
  if (!rows.length) return null;
  const body = make('tbody');
  for (const row of rows)
    body.append(row.element = make('tr', row.attributes || {}, shown.map(i => {
      const {text, look = columns[i].look || ''} = row.cells[i] || {};
      return make('td', {class: look, 'data-column': columns[i].name}, text);
    })));
  const heads = shown.map(
      i => make('th', {class: columns[i].look === 'n' ? 'n' : '', title: columns[i].title, 'aria-sort': 'none'},
          fixed ?
              columns[i].name :
              make('button', {type: 'button', class: 'plain', onclick: () => sort(i, sorted === i ? !up : columns[i].look !== 'n')},
                  columns[i].name)));
  let sorted = -1, up = true, all = rows.length <= most + 3;
  const compare = (a, b) => {
    if (!!a.last !== !!b.last) return !!a.last - !!b.last;
    const x = sortKey(a.cells[sorted] || {}), y = sortKey(b.cells[sorted] || {});
    if (x === null || y === null) return (x === null) - (y === null);  // without a value: below, either way
    return (typeof x === 'string' ? x.localeCompare(y, undefined, {numeric: true}) : x - y) * (up ? 1 : -1);
  };
  const arrange = () => {
    const order = sorted < 0 ? rows : [...rows].sort(compare);
    order.forEach((row, i) => { row.element.classList.toggle('more', !all && !row.last && i >= most); });
    body.append(...order.map(row => row.element));
    heads.forEach((head, k) => head.setAttribute('aria-sort', shown[k] !== sorted ? 'none' : up ? 'ascending' : 'descending'));
  };
  const sort = (i, ascending) => {
    sorted = i, up = ascending;
    arrange();
    if (out.onsort) out.onsort(i, up);
  };
  const more = !all && make('button', {type: 'button', class: 'show-all', onclick: () => { all = true; more.remove(); arrange(); }},
      `Show all ${rows.length}`);
  const out = make('div', {class: compact ? 'scroll' : 'scroll cards', id},
      make('table', {}, make('thead', {}, make('tr', {}, heads)), body), more);
  arrange();
  return Object.assign(out, {rows, sort, columns, shown});
};

const bar = (name, length, look, text) => [make('span', {}, name),
    make('i', {class: look, style: `--part: ${(100 * length).toFixed(1)}%`}), make('b', {}, text)];

// A line of a difference begins with + or -, with a space where it is the same, with @ where lines were left out.
const mostLines = 400;
const difference = lines => make('pre', {class: 'diff'},
    lines.slice(0, mostLines)
        .map(line => make({'+': 'ins', '-': 'del'}[line[0]] || 'span', {class: line[0] === '@' ? 'gap' : ''}, line + '\n')),
    lines.length > mostLines &&
        make('span', {class: 'gap'}, `@${lines.length - mostLines} more lines: stitchcuda runs export has them\n`));

// CUDA in colours: comments, strings, preprocessor, keywords. What they mean is told by the words themselves.
const cudaWords =
    /(\/\/.*|\/\*[^]*?\*\/)|("(?:\\.|[^"\\\n])*")|(^[ \t]*#.*)|\b((?:__\w+__|auto|bool|break|case|char|const|constexpr|continue|default|do|double|else|enum|extern|float|for|half|if|inline|int|int64_t|long|namespace|return|short|size_t|sizeof|static|struct|switch|template|typename|uint32_t|unsigned|using|void|volatile|while)(?![\w]))/gm;
const code = text => {
  const out = make('pre', {class: 'code', tabindex: 0});
  let at = 0;
  for (const match of text.matchAll(cudaWords)) {
    const kind = ['comment', 'string', 'directive', 'keyword'][match.slice(1).findIndex(group => group !== undefined)];
    out.append(printable(text.slice(at, match.index)), make('span', {class: kind}, match[0]));
    at = match.index + match[0].length;
  }
  out.append(printable(text.slice(at)));
  return out;
};

// Round numbers over a range, at most six: 0, 0.5, 1.
const ticks = (least, most) => {
  const raw = (most - least) / 4 || 1, power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map(one => one * power).find(one => one >= raw), out = [];
  for (let at = Math.ceil(least / step) * step; at <= most + step / 1e6; at += step) out.push(at);
  return out;
};
const round = value => value.toLocaleString('en', {maximumSignificantDigits: 3});

// Lines over one axis: {class, points: [[x, y], …]}; a line that `scatters` is points alone. Logarithmic where it has powers.
// Drawn in pixels, so that its words are as large as the page's.
const plot = (lines, axis, {from = Infinity, to = -Infinity, powers = false, words = round} = {}) => {
  const out = draw('svg', {role: 'img', class: 'plot', 'aria-label': axis}), place = powers ? Math.log10 : value => value;
  const placed = lines.map(line => ({...line, points: line.points.map(([x, y]) => [place(x), place(y)])}));
  const all = placed.flatMap(line => line.points);
  if (!all.length) return null;
  const low = Math.min(from, ...all.map(point => point[1])), high = Math.max(to, ...all.map(point => point[1])) || (powers ? 0 : 1);
  const first = powers ? Math.min(...all.map(point => point[0])) : Math.min(0, all[0][0]);
  const last = Math.max(...all.map(point => point[0]), first + (powers ? 0.1 : 1));
  // Of powers: each ten, with two and five in between where there are few.
  const marks = (least, most) => {
    if (!powers) return ticks(least, most);
    const between = most - least > 4 ? [1] : most - least > 2 ? [1, 3] : [1, 2, 5], marks = [];
    for (let power = Math.floor(least); power <= most; ++power) marks.push(...between.map(one => power + Math.log10(one)));
    return marks.filter(mark => mark >= least - 1e-9 && mark <= most + 1e-9);
  };
  const value = mark => powers ? 10 ** mark : mark;
  const show = () => {
    const width = Math.max(out.clientWidth, 200), height = 190, left = 58, right = 14, top = 8, bottom = 36;
    const x = value => left + (value - first) / (last - first) * (width - left - right);
    const y = value => height - bottom - (value - low) / (high - low || 1) * (height - top - bottom);
    const at = point => `${x(point[0]).toFixed(1)} ${y(point[1]).toFixed(1)}`;
    out.setAttribute('viewBox', `0 0 ${width} ${height}`);
    out.replaceChildren(
        ...marks(low, high).map(mark => draw('path', {class: 'grid', d: `M${left} ${y(mark)}H${width - right}`})),
        ...marks(low, high).map(mark => draw('text', {x: left - 6, y: y(mark) + 4, 'text-anchor': 'end'}, words(value(mark)))),
        ...marks(first, last).filter(mark => powers || Number.isInteger(mark)).map(mark => draw('text',
            {x: x(mark), y: height - bottom + 16, 'text-anchor': x(mark) > width - 40 ? 'end' : 'middle'}, round(value(mark)))),
        draw('text', {x: (left + width - right) / 2, y: height - 4, 'text-anchor': 'middle'}, axis),
        ...placed.map(line => draw('path', {
          class: line.scatters ? line.class + ' points' : line.class,
          d: line.points.map((point, i) => `${i && !line.scatters ? 'L' : 'M'}${at(point)}${line.scatters ? 'h0' : ''}`).join('') +
              (line.points.length === 1 && !line.scatters ? `H${left}` : '')
        })));
  };
  new ResizeObserver(show).observe(out);
  return out;
};

const show = (title, ...parts) => {
  document.title = `${printable(title)} · StitchCUDA`;
  document.body.classList.add('text');
  document.body.replaceChildren(byId('document'), make('h1', {}, title), ...parts.flat(Infinity).filter(Boolean));
  openTarget();
};
// A link to something that is folded away opens it.
const openTarget = () => {
  const target = location.hash.length > 1 && byId(decodeURIComponent(location.hash.slice(1)));
  for (let one = target; one; one = one.parentElement) if (one instanceof HTMLDetailsElement) one.open = true;
  if (target) target.scrollIntoView();
};
addEventListener('hashchange', openTarget);

const views = {};  // by name: each takes its document
