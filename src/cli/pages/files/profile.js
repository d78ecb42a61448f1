// One canvas with both timelines on one scale. Time is in nanoseconds from the start of a call.
'use strict';
const data = JSON.parse(document.getElementById('data').textContent);
const canvas = document.getElementById('timeline'), chosenPanel = document.getElementById('chosen');
const axis = 26, titleHeight = 24, laneHeight = 30, gap = 8, left = 8;

// Rows from top to bottom: a title a side, then its lanes; boxes of a lane by start.
const rows = [], boxes = [];
let height = axis;
for (const side of data.sides) {
  rows.push({title: `${side.side} (${side.title})${side.times === 'measured' ? '' : side.times === 'estimated' ? ', estimated' : ', in order'}`, y: height});
  height += titleHeight;
  const lanes = new Map();
  for (const one of side.boxes) {
    const lane = one.host ? 'host' : `stream ${one.stream}`;
    if (!lanes.has(lane)) lanes.set(lane, []);
    lanes.get(lane).push(one);
  }
  for (const [name, list] of lanes) {
    rows.push({lane: name, y: height, boxes: list});
    for (const box of list) box.side = side, box.y = height, boxes.push(box);
    height += laneHeight;
  }
  height += gap;
}
const end = Math.max(1, ...boxes.map(box => box.end));
boxes.sort((a, b) => a.start - b.start);
let from = 0, to = end * 1.01, chosen = null, width = 0;

const inView = (a, b) => {
  const least = Math.max(20, end * 1e-6), length = Math.min(Math.max(b - a, least), end * 1.05);
  from = Math.min(Math.max(a, -end * 0.02), end * 1.03 - length);
  if (from < -end * 0.02) from = -end * 0.02;
  to = from + length;
  draw();
};
const x = time => left + (time - from) / (to - from) * (width - 2 * left);
const timeAt = pixel => from + (pixel - left) / (width - 2 * left) * (to - from);
const zoom = (factor, pixel = width / 2) => {
  const at = timeAt(pixel);
  inView(at - (at - from) * factor, at + (to - at) * factor);
};
const pan = share => inView(from + share * (to - from), to + share * (to - from));
const duration = ns => ns >= 1e9 ? `${(ns / 1e9).toPrecision(3)} s` : ns >= 1e6 ? `${(ns / 1e6).toPrecision(3)} ms`
  : ns >= 1e3 ? `${(ns / 1e3).toPrecision(3)} us` : `${Math.round(ns)} ns`;

function draw() {
  const style = getComputedStyle(document.documentElement), colour = name => style.getPropertyValue(name).trim();
  const scale = window.devicePixelRatio || 1, context = canvas.getContext('2d');
  width = canvas.clientWidth;
  canvas.style.height = `${height}px`;
  canvas.width = Math.round(width * scale), canvas.height = Math.round(height * scale);
  context.setTransform(scale, 0, 0, scale, 0, 0);
  context.font = `12px ${getComputedStyle(document.body).fontFamily}`;
  context.textBaseline = 'middle';

  // A tick every 1, 2 or 5 of something, about 110 pixels apart.
  const wanted = (to - from) * 110 / width, power = 10 ** Math.floor(Math.log10(wanted));
  const step = [1, 2, 5, 10].map(one => one * power).find(one => one >= wanted);
  for (let time = Math.ceil(from / step) * step; time <= to; time += step) {
    context.fillStyle = colour('--rule');
    context.fillRect(x(time), axis - 6, 1, height - axis);
    context.fillStyle = colour('--soft');
    const text = time === 0 ? '0' : duration(Math.abs(time));
    if (time >= 0 && x(time) + context.measureText(text).width < width) context.fillText(text, x(time) + 4, axis / 2);
  }
  for (const row of rows) {
    if (row.title) {
      context.fillStyle = colour('--ink');
      context.fillText(row.title, left, row.y + titleHeight / 2, width - 2 * left);
      continue;
    }
    context.fillStyle = colour('--frame');
    context.fillRect(left, row.y + 2, width - 2 * left, laneHeight - 4);
    let drawnTo = -1;
    for (const box of row.boxes) {
      if (box.end < from || box.start > to) continue;
      const begin = Math.max(x(box.start), left), stop = Math.min(Math.max(x(box.end), begin + 1), width - left);
      if (stop <= drawnTo && box !== chosen) continue;  // thousands in one pixel
      drawnTo = Math.max(drawnTo, stop);
      const shade = box.host ? '--b0' : box.kind === 'kernel' ? `--b${3 + box.colour % 5}` : '--line';
      context.fillStyle = colour(shade);
      context.fillRect(begin, row.y + 4, Math.max(stop - begin - (stop - begin > 3 ? 1 : 0), 1), laneHeight - 8);
      if (box === chosen) {
        context.strokeStyle = colour('--accent');
        context.lineWidth = 2;
        context.strokeRect(begin - 1, row.y + 3, Math.max(stop - begin, 2) + 1, laneHeight - 6);
      }
      if (stop - begin > 46) {
        context.save();
        context.beginPath();
        context.rect(begin, row.y, stop - begin - 4, laneHeight);
        context.clip();
        const dark = matchMedia('(prefers-color-scheme: dark)').matches;
        context.fillStyle = !dark && (box.host || box.kind !== 'kernel' || box.colour % 5 < 3) ? '#1d1f23' : '#ffffff';
        context.fillText(box.short, begin + 5, row.y + laneHeight / 2);
        context.restore();
      }
    }
    context.fillStyle = colour('--soft');
    if (from <= 0 && row.boxes.length && x(row.boxes[0].start) > left + 80) context.fillText(row.lane, left + 4, row.y + laneHeight / 2);
  }
}

function choose(box, show) {
  chosen = box;
  for (const row of document.querySelectorAll('tr.chosen')) row.classList.remove('chosen');
  if (!box) return draw();
  const list = document.createElement('dl');
  const fact = (what, value) => {
    if (value === undefined || value === '' || value === null) return;
    const term = document.createElement('dt'), text = document.createElement('dd');
    term.textContent = what;
    if (value instanceof Node) text.append(value); else text.textContent = value;
    list.append(term, text);
  };
  const title = document.createElement('b');
  title.textContent = box.name;
  if (box.side.times !== 'none') fact('time', `${duration(box.end - box.start)}, from ${duration(box.start)} on${box.side.times === 'estimated' ? ' (estimated)' : ''}`);
  fact('launch', box.grid && `grid ${box.grid.join(' × ')}, block ${box.block.join(' × ')}${box.registers ? `, ${box.registers} registers` : ''}${box.shared ? `, ${box.shared} B shared` : ''}`);
  fact('bytes', box.bytes && box.bytes.toLocaleString('en'));
  fact('counters', box.counters && Object.entries(box.counters).map(([name, value]) => `${name} ${+value.toPrecision(4)}`).join(', '));
  const region = box.side.regions && box.side.regions[box.region];
  if (region) {
    const link = document.createElement('a');
    link.href = `#region-${box.region}`;
    link.textContent = region.name;
    fact('region', link);
    if (region.source !== undefined) {
      const source = document.createElement('a');
      source.href = `#source-${region.source}`;
      source.textContent = region.file;
      fact('source', source);
    }
    fact('model', (region.lines || []).join(' · '));
    fact('bound by', region.bound);
    const row = document.getElementById(`region-${box.region}`);
    if (row) row.classList.add('chosen');
  }
  chosenPanel.replaceChildren(title, list);
  if (show && (box.start < from || box.end > to)) inView(box.start - (to - from) * 0.3, box.start + (to - from) * 0.7);
  draw();
}

const boxAt = event => {
  const room = canvas.getBoundingClientRect(), px = event.clientX - room.left, py = event.clientY - room.top;
  const slack = (to - from) / width * 3, time = timeAt(px);
  let best = null;
  for (const box of boxes)
    if (py >= box.y && py < box.y + laneHeight && time >= box.start - slack && time <= box.end + slack)
      if (!best || box.end - box.start < best.end - best.start) best = box;
  return best;
};

// Mouse, pen and fingers alike: one pointer pans, two zoom.
const pointers = new Map();
let moved = 0;
canvas.addEventListener('pointerdown', event => {
  pointers.set(event.pointerId, event.clientX);
  canvas.setPointerCapture(event.pointerId);
  canvas.classList.add('dragged');
  if (pointers.size === 1) moved = 0;
});
canvas.addEventListener('pointermove', event => {
  if (!pointers.has(event.pointerId)) {
    const box = boxAt(event);
    canvas.title = box ? `${box.short} · ${duration(box.end - box.start)}` : '';
    return;
  }
  const before = [...pointers.values()], spread = Math.abs(before[0] - (before[1] ?? 0));
  const delta = event.clientX - pointers.get(event.pointerId);
  pointers.set(event.pointerId, event.clientX);
  moved += Math.abs(delta);
  if (pointers.size === 1) return pan(-delta / (width - 2 * left));
  const now = [...pointers.values()], middle = (now[0] + now[1]) / 2 - canvas.getBoundingClientRect().left;
  zoom(Math.min(Math.max(spread / Math.max(Math.abs(now[0] - now[1]), 10), 0.5), 2), middle);
});
const released = event => {
  if (!pointers.delete(event.pointerId)) return;
  if (!pointers.size) canvas.classList.remove('dragged');
  if (event.type === 'pointerup' && moved < 5 && !pointers.size) choose(boxAt(event), false);
};
canvas.addEventListener('pointerup', released);
canvas.addEventListener('pointercancel', released);
canvas.addEventListener('dblclick', event => zoom(0.4, event.clientX - canvas.getBoundingClientRect().left));
// A plain wheel scrolls the page; with Ctrl (as a trackpad's pinch comes) it zooms, sideways it pans.
canvas.addEventListener('wheel', event => {
  if (event.ctrlKey || event.metaKey || event.altKey) zoom(Math.exp(event.deltaY * 0.004), event.clientX - canvas.getBoundingClientRect().left);
  else if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) pan((event.deltaX || event.deltaY) / width);
  else return;
  event.preventDefault();
}, {passive: false});

const neighbour = step => {
  const kernels = boxes.filter(box => !box.host);
  const at = kernels.indexOf(chosen);
  choose(kernels[Math.min(Math.max(at + step, 0), kernels.length - 1)], true);
};
const actions = {
  in: () => zoom(0.5), out: () => zoom(2), whole: () => inView(0, end * 1.01), longest: () => {
    const longest = boxes.filter(box => !box.host).reduce((a, b) => b.end - b.start > a.end - a.start ? b : a);
    choose(longest, true);
  },
  previous: () => neighbour(-1), next: () => neighbour(1), left: () => pan(-0.2), right: () => pan(0.2),
};
for (const button of document.querySelectorAll('[data-do]')) button.addEventListener('click', actions[button.dataset.do]);
const keys = {'+': 'in', '=': 'in', '-': 'out', '0': 'whole', Home: 'whole', ArrowLeft: 'left', ArrowRight: 'right', n: 'next', p: 'previous', l: 'longest'};
canvas.addEventListener('keydown', event => {
  const action = actions[keys[event.key]];
  if (!action || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  action();
});
// A link to a source opens it.
const openTarget = () => {
  const target = location.hash.length > 1 && document.getElementById(location.hash.slice(1));
  if (target instanceof HTMLDetailsElement) target.open = true;
};
addEventListener('hashchange', openTarget);
openTarget();
new ResizeObserver(draw).observe(canvas);
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', draw);
draw();
