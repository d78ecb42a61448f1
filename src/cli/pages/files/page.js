'use strict';
(() => {
  const data = JSON.parse(document.getElementById('data').textContent);
  const byId = id => document.getElementById(id);
  const svg = byId('picture'), surface = byId('surface'), stage = byId('stage');
  const element = (parent, tag, attributes = {}, text) => {
    const node = parent.namespaceURI === svg.namespaceURI
        ? document.createElementNS(svg.namespaceURI, tag) : document.createElement(tag);
    for (const key in attributes) node.setAttribute(key, attributes[key]);
    if (text !== undefined) node.textContent = text;
    parent.appendChild(node);
    return node;
  };
  const percent = share => share === 0 ? '' : share < 0.0005 ? '<0.1 %' : (share * 100).toFixed(1) + ' %';
  const fitText = (text, length) => text.length <= length ? text : length < 3 ? '' : text.slice(0, length - 1) + '…';

  // ---- the picture
  svg.setAttribute('width', data.width);
  svg.setAttribute('height', data.height);
  // The scale ends where the heaviest fiftieth of a big graph begins, or one giant would leave the rest pale.
  const shares = data.items.map(item => item.share || 0).sort((a, b) => b - a);
  const most = Math.max(1e-12, shares[Math.floor(shares.length / 50)] || shares[0] || 0);
  byId('most').textContent = (most < 0.999 * shares[0] ? '≥ ' : '') + percent(most);
  const names = [];  // of the frames, for when one looks from afar, with the largest font that fits
  if (data.left_out) byId('left-out').textContent = `not drawn: ${data.left_out} that only count batches and the like`;
  for (const [name, x, y, width, height] of data.frames) {
    element(byId('frames'), 'rect', {x, y, width, height, rx: 12});
    element(byId('frames'), 'text', {x: x + 10, y: y + 13.5}, name);
    const short = name.split('.').slice(-2).join('.');
    names.push([element(byId('names'), 'text', {x: x + width / 2, y: y + height / 2}, short), width / short.length * 1.5]);
  }
  data.lines.forEach(([from, to, far, path]) =>
      element(byId('lines'), 'path', far ? {d: path, class: 'far'} : {d: path}));
  data.items.forEach((item, i) => {
    const [x, y, width, height] = item.box;
    const pill = item.kind !== 'node', free = !pill && !item.share;
    const heat = pill || free ? '' : 'h' + Math.round(9 * Math.sqrt(Math.min(1, item.share / most)));
    const group = element(byId('boxes'), 'g',
        {class: ['box', pill ? item.kind : free ? 'free' : heat].join(' '), transform: `translate(${x} ${y})`,
         tabindex: i ? -1 : 0, role: 'button', 'aria-label': `${item.op} ${item.name}`});
    group.dataset.i = i;
    element(group, 'rect', {width, height, rx: pill ? height / 2 : 8});
    if (pill || free) {
      const label = fitText(pill ? item.name : item.op, 14);
      element(group, 'text', {class: 'op', x: pill ? 14 : 11, y: height / 2 + 4.2}, label);
      const room = Math.floor((width - 32 - 7.4 * label.length) / 6.4);
      const type = item.type.replace(/^\w+/, pill ? '$&' : '');
      element(group, 'text', {class: 'type', x: width - (pill ? 13 : 10), y: height / 2 + 4, 'text-anchor': 'end'}, fitText(type, room));
    } else {
      const share = percent(item.share);
      element(group, 'text', {class: 'op', x: 11, y: 19}, fitText(item.op, Math.floor((width - 27 - 6.6 * share.length) / 7.4)));
      element(group, 'text', {class: 'share', x: width - 10, y: 19}, share);
      element(group, 'text', {class: 'type', x: 11, y: 35.5}, fitText(item.type, 24));
    }
    item.element = group;
    item.search = [item.name, item.op, item.module, item.where, item.type].join('\n').toLowerCase();
  });

  // ---- pan and zoom
  let view = {x: 0, y: 0, k: 1};
  const apply = () => {
    // On the element, not inside it: a transform inside SVG lays everything out again.
    svg.style.transform = `translate(${view.x}px, ${view.y}px) scale(${view.k})`;
    const afar = view.k < 0.34;
    svg.classList.toggle('afar', afar);
    if (afar) for (const [text, size] of names) text.style.fontSize = Math.min(size, 12 / view.k) + 'px';
  };
  const zoomAt = (cx, cy, factor) => {
    const k = Math.min(3, Math.max(0.02, view.k * factor));
    view = {x: cx - (cx - view.x) * k / view.k, y: cy - (cy - view.y) * k / view.k, k};
    apply();
  };
  const fit = () => {
    const {width, height} = surface.getBoundingClientRect();
    // The legend stands in the lower left corner, where the first column ends.
    const room = height - 48 - document.querySelector('.legend').offsetHeight;
    const k = Math.min(1.15, (width - 48) / data.width, room / data.height);
    view = {x: (width - data.width * k) / 2, y: Math.max(24, (room + 48 - data.height * k) / 2), k};
    apply();
  };
  // At first the whole where that is readable, else the beginning.
  const open = () => {
    fit();
    if (view.k >= 0.5) return;
    view = {x: 24, y: 16, k: 0.62};
    const {width} = surface.getBoundingClientRect();
    if (data.width * view.k < width) view.x = (width - data.width * view.k) / 2;
    apply();
  };
  const centre = i => {
    const [x, y, w, h] = data.items[i].box, {width, height} = surface.getBoundingClientRect();
    const k = Math.max(view.k, 0.75);
    view = {x: width / 2 - (x + w / 2) * k, y: height / 2 - (y + h / 2) * k, k};
    apply();
  };
  surface.addEventListener('wheel', event => {
    event.preventDefault();
    const {left, top} = surface.getBoundingClientRect();
    const lines = event.deltaMode === 1 ? 24 : 1;
    if (event.ctrlKey || event.metaKey || !event.shiftKey)
      zoomAt(event.clientX - left, event.clientY - top, Math.exp(-event.deltaY * lines * (event.ctrlKey ? 0.01 : 0.0016)));
    else { view.x -= event.deltaY * lines; apply(); }
  }, {passive: false});
  const pointers = new Map();
  let travelled = 0;
  surface.addEventListener('pointerdown', event => {
    pointers.set(event.pointerId, event);
    travelled = 0;
  });
  surface.addEventListener('pointermove', event => {
    const before = pointers.get(event.pointerId);
    if (!before) return;
    const dx = event.clientX - before.clientX, dy = event.clientY - before.clientY;
    travelled += Math.abs(dx) + Math.abs(dy);
    if (travelled > 4 && !surface.classList.contains('moving')) {
      surface.classList.add('moving');
      surface.setPointerCapture(event.pointerId);
      hideTip();
    }
    if (pointers.size === 2) {
      const [a, b] = [...pointers.values()], other = a.pointerId === event.pointerId ? b : a;
      const distance = p => Math.hypot(p.clientX - other.clientX, p.clientY - other.clientY);
      const {left, top} = surface.getBoundingClientRect();
      zoomAt(other.clientX - left, other.clientY - top, distance(event) / Math.max(1, distance(before)));
    } else { view.x += dx; view.y += dy; apply(); }
    pointers.set(event.pointerId, event);
  });
  const release = event => { pointers.delete(event.pointerId); surface.classList.remove('moving'); };
  surface.addEventListener('pointerup', release);
  surface.addEventListener('pointercancel', release);
  const middle = factor => { const {width, height} = surface.getBoundingClientRect(); zoomAt(width / 2, height / 2, factor); };
  byId('in').onclick = () => middle(1.35);
  byId('out').onclick = () => middle(1 / 1.35);
  byId('whole').onclick = fit;

  // ---- hover and choice
  const tip = byId('tip-card');
  const hideTip = () => { tip.hidden = true; };
  const over = event => { const box = event.target.closest('.box'); return box ? +box.dataset.i : -1; };
  const mark = i => {
    byId('marked').replaceChildren();
    if (i < 0) return;
    for (const [from, to, , path] of data.lines)
      if (from === i || to === i) element(byId('marked'), 'path', {d: path});
  };
  let chosen = -1;
  surface.addEventListener('pointerover', event => {
    const i = over(event);
    if (i < 0 || surface.classList.contains('moving')) { hideTip(); mark(chosen); return; }
    const item = data.items[i];
    tip.replaceChildren();
    element(tip, 'h3', {}, item.name);
    element(tip, 'p', {class: 'mono'}, `${item.op}  ${item.type}`);
    if (item.attributes) element(tip, 'p', {class: 'mono'}, item.attributes);
    if (item.floor) element(tip, 'p', {class: 'numbers'},
        [item.flops && item.flops + ' FLOP', item.bytes, item.intensity && item.intensity + ' FLOP/B',
         `${item.floor}, ${item.bound} bound`].filter(Boolean).join(' · '));
    if (item.where) element(tip, 'p', {}, item.where);
    tip.hidden = false;
    mark(i);
  });
  surface.addEventListener('pointermove', event => {
    if (tip.hidden) return;
    const {left, top, width, height} = stage.getBoundingClientRect();
    const x = event.clientX - left + 16, y = event.clientY - top + 16;
    tip.style.left = Math.max(4, Math.min(x, width - tip.offsetWidth - 12)) + 'px';
    tip.style.top = (y + tip.offsetHeight > height - 8 ? y - tip.offsetHeight - 30 : y) + 'px';
  });
  surface.addEventListener('pointerleave', () => { hideTip(); mark(chosen); });
  surface.addEventListener('click', event => { if (travelled <= 4) choose(over(event)); });
  // One stop of the Tab key for all boxes; from there the arrows walk: along the data, or in order.
  const follow = (i, from, to) => { const line = data.lines.find(line => line[from] === i); return line ? line[to] : i; };
  const walk = {
    ArrowRight: i => (i + 1) % data.items.length, ArrowLeft: i => (i + data.items.length - 1) % data.items.length,
    ArrowDown: i => follow(i, 0, 1), ArrowUp: i => follow(i, 1, 0),
  };
  surface.addEventListener('keydown', event => {
    const i = over(event);
    if (i < 0) return;
    if (event.key === 'Enter' || event.key === ' ') choose(i);
    else if (walk[event.key]) data.items[walk[event.key](i)].element.focus();
    else return;
    event.preventDefault();
  });
  surface.addEventListener('focusin', event => {
    const i = over(event);
    if (i < 0) return;
    for (const box of surface.querySelectorAll('.box[tabindex="0"]')) box.setAttribute('tabindex', -1);
    event.target.setAttribute('tabindex', 0);
    mark(i);
    const box = event.target.getBoundingClientRect(), room = surface.getBoundingClientRect();
    const inside = box.left >= room.left && box.top >= room.top && box.right <= room.right && box.bottom <= room.bottom;
    if (!inside && !pointers.size) centre(i);
  });

  const maker = new Map();
  data.items.forEach((item, i) => {
    if (item.kind === 'input') maker.set(item.name, i);
    for (const [name] of item.results || []) maker.set(name, i);
  });
  const docs = new Map(data.ops.map(op => [op.op, op.doc]));
  const choose = (i, move) => {
    if (chosen >= 0) data.items[chosen].element.classList.remove('chosen');
    chosen = i;
    mark(i);
    const detail = byId('detail');
    detail.hidden = i < 0;
    if (i < 0) return;
    const item = data.items[i];
    item.element.classList.add('chosen');
    if (move) centre(i);
    detail.replaceChildren();
    element(detail, 'button', {class: 'close', title: 'Close (Esc)'}, '×').onclick = () => choose(-1);
    element(detail, 'h3', {}, item.name);
    element(detail, 'p', {class: 'doc'}, docs.has(item.op) ? `${item.op}: ${docs.get(item.op)}` : item.op);
    if (item.kind === 'node' && item.share) {
      const figures = element(detail, 'div', {class: 'figures'});
      for (const [label, value] of [['limit', item.floor], ['share', percent(item.share)], ['bound by', item.bound],
                                    ['FLOPs', item.flops || '0'], ['bytes', item.bytes], ['FLOP/B', item.intensity || '0']]) {
        const cell = element(figures, 'div', {}, label);
        cell.prepend(element(cell, 'b', {}, value));
      }
    }
    if (item.attributes) {
      element(detail, 'h4', {}, 'attributes');
      element(detail, 'code', {}, item.attributes);
    }
    const list = (title, values) => {
      if (!values || !values.length) return;
      element(detail, 'h4', {}, title);
      for (const [name, type, role] of values) {
        const row = element(detail, 'div', {class: 'value'}), left = element(row, 'span', {title: name});
        if (maker.has(name) && maker.get(name) !== i)
          element(left, 'button', {class: 'plain'}, name).onclick = () => choose(maker.get(name), true);
        else left.textContent = name;
        element(row, 'code', {}, role === 'result' || role === 'input' ? type : `${role} ${type}`);
      }
    };
    list('operands', item.operands);
    list('results', item.results || [[item.name, item.type, '']]);
    if (item.where || item.module) {
      element(detail, 'h4', {}, 'where');
      element(detail, 'p', {class: 'where'}, item.where);
      if (item.module) element(detail, 'p', {class: 'where mono'}, item.module);
    }
    detail.scrollIntoView({block: 'nearest'});
  };

  // ---- search
  const search = byId('search');
  let hits = [], hit = -1;
  const find = () => {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    svg.classList.toggle('searching', words.length > 0);
    hits = [];
    hit = -1;
    data.items.forEach((item, i) => {
      const matches = words.length > 0 && words.every(word =>
          word.startsWith('op:') ? item.op === word.slice(3) : item.search.includes(word));
      item.element.classList.toggle('hit', matches);
      if (matches) hits.push(i);
    });
    byId('found').textContent = words.length ? `${hits.length} found` : '';
    for (const row of document.querySelectorAll('#ops tbody tr'))
      row.classList.toggle('chosen', words.length === 1 && words[0] === 'op:' + row.dataset.op);
  };
  const lookFor = text => { search.value = text; find(); };
  search.addEventListener('input', find);
  search.addEventListener('keydown', event => {
    if (event.key === 'Enter' && hits.length) {
      hit = (hit + (event.shiftKey ? hits.length - 1 : 1)) % hits.length;
      choose(hits[hit], true);
    }
  });
  addEventListener('keydown', event => {
    if (event.key === 'Escape') { lookFor(''); search.blur(); choose(-1); return; }
    if (event.target === search || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === '/') { event.preventDefault(); search.focus(); search.select(); }
    if (event.key === 'f') fit();
    if (event.key === '+' || event.key === '=') middle(1.35);
    if (event.key === '-') middle(1 / 1.35);
  });

  // ---- beside it
  byId('name').textContent = data.name || '(no name)';
  byId('source').textContent = data.source;
  const floor = byId('floor'), longest = Math.max(data.floor.memory_seconds, data.floor.compute_seconds, data.floor.launch_seconds, 1e-12);
  element(floor, 'h2', {}, `Theoretical limit on ${data.floor.gpu}`);
  element(element(floor, 'div', {class: 'big'}, data.floor.text), 'small', {}, `${data.floor.bound} bound`);
  const bars = element(floor, 'div', {class: 'bars'});
  for (const key of ['memory', 'compute', 'launch']) {
    element(bars, 'span', {}, key);
    element(bars, 'i', {class: data.floor.bound === key ? 'bound' : '', style: `--part: ${100 * data.floor[key + '_seconds'] / longest}%`});
    element(bars, 'b', {}, data.floor[key]);
  }
  element(floor, 'p', {}, `memory or compute, whichever takes longer, and one launch · ${data.floor.bandwidth} (${data.floor.source}) · numerics class default`);
  for (const {what, value, note} of data.facts) {
    const entry = element(byId('facts'), 'div');
    element(entry, 'dt', {}, what);
    const dd = element(entry, 'dd');
    element(dd, 'b', {}, value);
    element(dd, 'span', {}, note);
  }
  // ---- the plan, where there is one
  if (data.plan) {
    const plan = data.plan, nodes = new Map(data.items.map((item, i) => [item.name, i]));
    byId('plan').hidden = false;
    byId('planned').textContent = plan.text;
    byId('planned-for').textContent = `estimated for ${plan.gpu}, class ${plan.class}, ${plan.regions.length} regions` +
        (plan.one_graph ? ', one CUDA graph' : '') + '; ' + plan.pytorch;
    for (const step of plan.steps) {
      const entry = element(byId('steps'), 'li');
      const line = element(entry, 'p');
      element(line, 'b', {}, step.title);
      element(line, 'span', {}, `${step.gain} saved, ${step.regions} region${step.regions === 1 ? '' : 's'}`);
      element(entry, 'i', {style: `--part: ${100 * step.share}%`});
      element(entry, 'p', {class: 'why'}, step.why);
    }
    const errors = plan.regions.some(region => region.error_share !== undefined);
    byId('plan-legend').textContent = 'A region is what one kernel or library call computes. Bars: a step\'s share of the predicted gain. ' +
        (errors ? '% of error: what a region\'s rounding adds to the error of the outputs.'
                : 'Shares of the error are measured by optimize, not by plan.');
    if (!errors) document.querySelector('#regions th[data-key=error_share]').remove();
    const body = document.querySelector('#regions tbody');
    let sorted = '', up = false;
    const fill = () => {
      body.replaceChildren();
      const rows = [...plan.regions];
      if (sorted) rows.sort((a, b) => (typeof a[sorted] === 'string' ? a[sorted].localeCompare(b[sorted]) : (a[sorted] || 0) - (b[sorted] || 0)) * (up ? 1 : -1));
      for (const region of rows) {
        const row = element(body, 'tr', {title: region.idea});
        const cell = element(row, 'td');
        const name = element(cell, 'button', {class: 'plain'}, region.name);
        name.onclick = () => nodes.has(region.node) && choose(nodes.get(region.node), true);
        element(cell, 'span', {}, region.technique + (region.arithmetic === 'by class' || region.arithmetic === 'by_class' ? '' : ', ' + region.arithmetic));
        element(row, 'td', {class: 'number'}, region.text);
        element(row, 'td', {class: 'number'}, percent(region.share));
        if (errors) element(row, 'td', {class: 'number'}, percent(region.error_share || 0));
      }
      for (const head of document.querySelectorAll('#regions th')) {
        head.setAttribute('aria-sort', head.dataset.key !== sorted ? 'none' : up ? 'ascending' : 'descending');
        head.classList.toggle('sorted', head.dataset.key === sorted);
        head.classList.toggle('up', head.dataset.key === sorted && up);
      }
    };
    for (const head of document.querySelectorAll('#regions th'))
      head.querySelector('button').onclick = () => {
        up = sorted === head.dataset.key ? !up : head.dataset.key === 'name';
        sorted = head.dataset.key;
        fill();
      };
    fill();
  }

  const body = document.querySelector('#ops tbody');
  let sorted = 'share', up = false;
  const fillOps = () => {
    body.replaceChildren();
    const rows = [...data.ops].sort((a, b) =>
        (typeof a[sorted] === 'string' ? a[sorted].localeCompare(b[sorted]) : a[sorted] - b[sorted]) * (up ? 1 : -1));
    for (const op of rows) {
      const row = element(body, 'tr', {title: `${op.op}: ${op.doc}`});
      row.dataset.op = op.op;
      element(element(row, 'td'), 'button', {class: 'plain'}, op.op);
      for (const text of [op.count, op.flops_text, op.bytes_text, op.intensity_text])
        element(row, 'td', {class: 'number'}, text);
      const share = element(row, 'td', {class: 'number'});
      if (op.share) element(share, 'span', {class: 'meter', style: `--part: ${100 * op.share / Math.max(...data.ops.map(o => o.share))}%`});
      share.append(percent(op.share));
      row.onclick = () => lookFor(search.value === 'op:' + op.op ? '' : 'op:' + op.op);
    }
    for (const head of document.querySelectorAll('#ops th')) {
      head.setAttribute('aria-sort', head.dataset.key !== sorted ? 'none' : up ? 'ascending' : 'descending');
      head.classList.toggle('sorted', head.dataset.key === sorted);
      head.classList.toggle('up', head.dataset.key === sorted && up);
    }
  };
  for (const head of document.querySelectorAll('#ops th'))
    head.onclick = () => {
      up = sorted === head.dataset.key ? !up : head.dataset.key === 'op';
      sorted = head.dataset.key;
      fillOps();
    };
  fillOps();
  data.items.map((item, i) => [item.share || 0, i]).sort((a, b) => b[0] - a[0]).slice(0, 12).forEach(([share, i]) => {
    if (!share) return;
    const row = element(element(byId('heaviest'), 'li'), 'button', {class: 'plain', title: data.items[i].where || ''});
    element(row, 'span', {}, data.items[i].name);
    element(row, 'span', {}, data.items[i].module || data.items[i].op);
    element(row, 'span', {}, percent(share));
    row.onclick = () => choose(i, true);
  });

  open();
  // A link may name a node: page.html#conv2d, or ask for the whole: page.html#fit
  const named = decodeURIComponent(location.hash.slice(1));
  if (named === 'fit') fit();
  else if (named && maker.has(named)) choose(maker.get(named), true);
})();
