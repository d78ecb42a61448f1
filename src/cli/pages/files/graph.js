// show and plan: the graph as a picture that is panned, zoomed and searched, with the figures beside it.

// The block a module belongs to: layer1.0.conv1 is in layer1.0, encoder.proj in encoder.
const blockOf = module => {
  const parts = (module || '').split('.'), numbered = parts.findIndex((part, i) => i > 0 && /^\d/.test(part));
  return numbered > 0 ? parts.slice(0, numbered + 1).join('.') : parts.length > 1 ? parts[0] : '';
};

// Nodes from which no output follows and that cost next to nothing, as counters of batches, are not drawn.
const drawnNodes = report => {
  const wanted = new Set(report.outputs.map(value => value.name));
  return [...report.nodes].reverse().filter(node => {
    const drawn = node.share > 0.0005 || !report.outputs.length || node.results.some(value => wanted.has(value.name));
    if (drawn) for (const value of node.operands) wanted.add(value.name);
    return drawn;
  }).reverse();
};

// Inputs, nodes and outputs as boxes, with their arrows, laid out.
const pictureOf = report => {
  const width = 172, pill = 30, frameOf = new Map();
  for (const region of report.plan ? report.plan.regions : [])
    for (const node of region.nodes) frameOf.set(node, `${region.name} · ${region.technique}`);
  const leaf = kind => value => ({kind, op: kind, ...value, width, height: pill, anchored: kind === 'input'});
  const items = report.inputs.map(leaf('input'));
  for (const node of drawnNodes(report))
    items.push({...node, kind: 'node', type: node.results[0].type, width, height: node.floor_seconds ? 46 : 26,
                group: report.plan ? frameOf.get(node.name) : blockOf(node.module)});
  const made = items.length;
  items.push(...report.outputs.map(leaf('output')));
  const makers = new Map(), arrows = new Map();
  items.forEach((item, i) => {
    for (const value of item.operands || (i >= made ? [item] : []))
      if (makers.has(value.name)) arrows.set(`${makers.get(value.name)} ${i}`, [makers.get(value.name), i]);
    if (i < made) for (const value of item.results || [item]) makers.set(value.name, i);
  });
  return {items, makers, ...layOut(items, [...arrows.values()], report.plan ? 2 : 3)};
};

// The theoretical limit and what it is made of.
const floorPart = ({floor, gpu}) => {
  const parts = ['memory', 'compute', 'launch'].map(name => ({name, seconds: floor[name + '_seconds']}));
  const longest = Math.max(1e-12, ...parts.map(part => part.seconds));
  return make('section', {id: 'floor'}, make('h2', {}, `Theoretical limit on ${gpu.name}`),
      make('div', {class: 'big'}, seconds(floor.seconds), make('small', {}, `${floor.bound} bound`)),
      make('div', {class: 'bars'},
          parts.map(
              part => bar(part.name, part.seconds / longest, part.name === floor.bound ? 'bound' : '', seconds(part.seconds)))),
      make('p', {},
          `memory or compute, whichever takes longer, and one launch · ${si(gpu.bandwidth, 'B/s')} (${
              gpu.source}) · numerics class ${floor.numerics}`));
};

const totalsPart = ({totals, ops}) => make('dl', {id: 'facts'}, [
  ['Parameters', si(totals.parameters, '', 4), 'tied weights counted once'],
  ['FLOPs', si(totals.flops), `${percent(totals.flops ? totals.matrix_flops / totals.flops : 0, 1)} in matrix products`],
  ['Minimum traffic', bytes(totals.bytes_at_the_borders), 'inputs, parameters, buffers and outputs, once each'],
  ['Unfused traffic', bytes(totals.bytes_each_op_alone), 'every operand and result through memory'],
  ['Peak memory', bytes(totals.peak_bytes), 'ops in order, results freed after use'],
  ['Nodes', totals.nodes, counted(ops.length, 'kind of op', 'kinds of op')],
].map(([what, value, why]) => make('div', {}, make('dt', {}, what), make('dd', {}, make('b', {}, value), make('span', {}, why)))));

const planPart = ({plan, techniques = {}}, choose) => {
  const whole = plan.estimated_seconds, pytorch = plan.pytorch_estimated_seconds;
  const gains = plan.steps.reduce((sum, step) => sum + Math.max(step.predicted_gain_seconds, 0), 0) || 1;
  const busy = plan.regions.reduce((sum, region) => sum + region.estimated_seconds, 0) || 1;
  const errors = plan.regions.some(region => region.error_share !== undefined);
  const stepPart = step => {
    const saved = gain(step.predicted_gain_seconds, whole), part = Math.max(step.predicted_gain_seconds, 0) / gains;
    return make('li', {},
        make('p', {}, make('b', {}, step.title), make('span', {}, saved && `${saved} saved, `, counted(step.regions.length, 'region'))),
        make('i', {style: `--part: ${100 * part}%`}), make('p', {class: 'why'}, step.why));
  };
  const regionCells = region => {
    const last = region.nodes[region.nodes.length - 1], by = region.arithmetic.replace('_', ' ');
    const name = make('div', {title: techniques[region.technique]},
        make('button', {type: 'button', class: 'plain', onclick: () => choose(last)}, region.name),
        make('span', {class: 'soft'}, region.technique, by !== 'by class' && ', ' + by));
    return [{text: name, sort: region.name}, figure(region.estimated_seconds), figure(region.estimated_seconds / busy, share),
        figure(region.error_share, share)];
  };
  return make('section', {id: 'plan'}, make('h2', {}, 'Plan'),
      make('div', {class: 'big'}, make('b', {}, seconds(whole)), make('small', {},
          `estimated for ${plan.gpu}, class ${plan.class}, ${counted(plan.regions.length, 'region')}`, plan.one_graph && ', one CUDA graph',
          pytorch && `; PyTorch ${seconds(pytorch['eager-graph'])} in a CUDA graph, ${seconds(pytorch.eager)} eager`)),
      make('h3', {}, 'Steps'), make('ol', {id: 'steps'}, plan.steps.map(stepPart)),
      make('h3', {}, 'Regions'), table([words('region, technique'), ...['estimate', '% of time', '% of error'].map(number)],
          plan.regions.map(regionCells), {compact: true, id: 'regions'}),
      note('A region is what one kernel or library call computes. Bars: a step\'s share of the predicted gain. ',
          errors ? '% of error: what a region\'s rounding adds to the error of the outputs.'
              : 'Shares of the error are measured by optimize, not by plan.'));
};

const graphView = report => {
  const {items, makers, lines, frames, width: wholeWidth, height: wholeHeight} = pictureOf(report);
  const cut = (text, length) => text.length <= length ? text : length < 3 ? '' : text.slice(0, length - 1) + '…';

  // ---- the picture
  // The scale ends where the heaviest fiftieth of a big graph begins, or one giant would leave the rest pale.
  const shares = items.map(item => item.share || 0).sort((a, b) => b - a);
  const most = Math.max(1e-12, shares[Math.floor(shares.length / 50)] || shares[0] || 0);
  // From afar the names of the frames are drawn alone, with the largest font that fits.
  const afar = frames.map(frame => {
    const short = frame.group.split('.').slice(-2).join('.');
    return {
      text: draw('text', {x: frame.x + frame.width / 2, y: frame.y + frame.height / 2}, short),
      size: frame.width / short.length * 1.5
    };
  });
  const boxOf = (item, i) => {
    const {width, height} = item, pill = item.kind !== 'node', free = !pill && !item.share;
    const look = pill ? item.kind : free ? 'free' : 'h' + Math.round(9 * Math.sqrt(Math.min(1, item.share / most)));
    const text = (look, x, y, words, anchor) => draw('text', {class: look, x, y, 'text-anchor': anchor}, words);
    const label = cut(pill ? item.name : item.op, 14), right = width - (pill ? 13 : 10);
    const inside = pill || free ?
        [
          text('op', pill ? 14 : 11, height / 2 + 4.2, label),
          text('type', right, height / 2 + 4,
              cut(pill ? item.type : item.type.replace(/^\w+/, ''), Math.floor((width - 32 - 7.4 * label.length) / 6.4)), 'end'),
        ] :
        [
          text('op', 11, 19, cut(item.op, Math.floor((width - 27 - 6.6 * share(item.share).length) / 7.4))),
          text('share', right, 19, share(item.share), 'end'),
          text('type', 11, 35.5, cut(item.type, 24)),
        ];
    item.search = [item.name, item.op, item.module, item.where, item.type].join('\n').toLowerCase();
    return item.element = draw('g', {class: `box ${look}`, transform: `translate(${item.x.toFixed(1)} ${item.y.toFixed(1)})`,
        tabindex: i ? -1 : 0, role: 'button', 'aria-label': `${item.op} ${item.name}`, 'data-i': i},
        draw('rect', {width, height, rx: pill ? height / 2 : 8}), inside);
  };
  const marked = draw('g', {id: 'marked'});
  const svg = draw('svg', {id: 'picture', width: wholeWidth, height: wholeHeight},
      draw('defs', {},
          draw('marker', {
            id: 'tip',
            viewBox: '0 0 8 8',
            refX: 7,
            refY: 4,
            markerWidth: 7,
            markerHeight: 7,
            markerUnits: 'userSpaceOnUse',
            orient: 'auto-start-reverse'
          },
              draw('path', {d: 'M0 .8L7 4L0 7.2z'}))),
      draw('g', {id: 'frames'},
          frames.map(({x, y, width, height, group}) => [draw('rect', {x, y, width, height, rx: 12}),
                         draw('text', {x: x + 10, y: y + 13.5}, cut(group, Math.floor((width - 20) / 5.6)))])),
      draw('g', {id: 'lines'}, lines.map(line => draw('path', {d: line.path, class: line.far ? 'far' : null}))),
      draw('g', {id: 'boxes'}, items.map(boxOf)), marked, draw('g', {id: 'names'}, afar.map(name => name.text)));

  // ---- pan and zoom
  const surface = make('div', {id: 'surface'}, svg);
  const left = report.nodes.length - items.filter(item => item.kind === 'node').length;
  const legend = make('div', {class: 'legend'}, make('span', {}, 'share of the theoretical limit'), make('i'),
      make('span', {class: 'scale'}, make('b', {}, '0'), make('b', {}, (most < 0.999 * shares[0] ? '≥ ' : '') + share(most))),
      left > 0 && make('span', {class: 'left-out'}, `not drawn: ${left} that only count batches and the like`));
  let view = {x: 0, y: 0, k: 1};
  const apply = () => {
    // On the element, not inside it: a transform inside SVG lays everything out again.
    svg.style.transform = `translate(${view.x}px, ${view.y}px) scale(${view.k})`;
    svg.classList.toggle('afar', view.k < 0.34);
    if (view.k < 0.34) for (const {text, size} of afar) text.style.fontSize = Math.min(size, 12 / view.k) + 'px';
  };
  const zoomAt = (cx, cy, factor) => {
    const k = Math.min(3, Math.max(0.02, view.k * factor));
    view = {x: cx - (cx - view.x) * k / view.k, y: cy - (cy - view.y) * k / view.k, k};
    apply();
  };
  const middle = factor => { const {width, height} = surface.getBoundingClientRect(); zoomAt(width / 2, height / 2, factor); };
  const fit = () => {
    const {width, height} = surface.getBoundingClientRect(),
                  room = height - 48 - legend.offsetHeight;  // which stands below the first column
    const k = Math.min(1.15, (width - 48) / wholeWidth, room / wholeHeight);
    view = {x: (width - wholeWidth * k) / 2, y: Math.max(24, (room + 48 - wholeHeight * k) / 2), k};
    apply();
  };
  // At first the whole where that is readable, else the beginning.
  const open = () => {
    fit();
    if (view.k >= 0.5) return;
    view = {x: Math.max(24, (surface.clientWidth - wholeWidth * 0.62) / 2), y: 16, k: 0.62};
    apply();
  };
  const centre = i => {
    const item = items[i], {width, height} = surface.getBoundingClientRect(), k = Math.max(view.k, 0.75);
    view = {x: width / 2 - (item.x + item.width / 2) * k, y: height / 2 - (item.y + item.height / 2) * k, k};
    apply();
  };
  surface.addEventListener('wheel', event => {
    event.preventDefault();
    const {left, top} = surface.getBoundingClientRect(), delta = event.deltaY * (event.deltaMode === 1 ? 24 : 1);
    if (event.ctrlKey || event.metaKey || !event.shiftKey)
      zoomAt(event.clientX - left, event.clientY - top, Math.exp(-delta * (event.ctrlKey ? 0.01 : 0.0016)));
    else { view.x -= delta; apply(); }
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
      tip.hidden = true;
    }
    if (pointers.size === 2) {
      const other = [...pointers.values()].find(one => one.pointerId !== event.pointerId), {left, top} = surface.getBoundingClientRect();
      const distance = one => Math.hypot(one.clientX - other.clientX, one.clientY - other.clientY);
      zoomAt(other.clientX - left, other.clientY - top, distance(event) / Math.max(1, distance(before)));
    } else { view.x += dx; view.y += dy; apply(); }
    pointers.set(event.pointerId, event);
  });
  const release = event => { pointers.delete(event.pointerId); surface.classList.remove('moving'); };
  surface.addEventListener('pointerup', release);
  surface.addEventListener('pointercancel', release);

  // ---- hover and choice
  const plain = (text, onclick, title) => make('button', {type: 'button', class: 'plain', onclick, title}, text);
  const tip = make('div', {id: 'tip-card', hidden: ''}),
        stage = make('section', {id: 'stage', 'aria-label': 'The graph'}, surface, legend,
            make('div', {class: 'zoom'}, make('button', {title: 'Zoom in (+)', onclick: () => middle(1.35)}, '+'),
                make('button', {title: 'Zoom out (−)', onclick: () => middle(1 / 1.35)}, '−'),
                make('button', {title: 'Fit (f)', onclick: fit}, 'fit')),
            tip);
  const detail = make('section', {id: 'detail', hidden: ''});
  const boxAt = event => { const box = event.target.closest('.box'); return box ? +box.dataset.i : -1; };
  const mark = i =>
      marked.replaceChildren(...lines.filter(line => line.from === i || line.to === i).map(line => draw('path', {d: line.path})));
  const intensity = value => value ? value.toFixed(value < 10 ? 2 : value < 100 ? 1 : 0) : '';
  let chosen = -1;
  surface.addEventListener('pointerover', event => {
    const i = boxAt(event);
    tip.hidden = i < 0 || surface.classList.contains('moving');
    mark(tip.hidden ? chosen : i);
    if (tip.hidden) return;
    const item = items[i];
    tip.replaceChildren(make('h3', {}, item.name), make('p', {class: 'mono'}, `${item.op}  ${item.type}`),
        ...[item.attributes && make('p', {class: 'mono'}, item.attributes),
            item.floor_seconds &&
                make('p', {class: 'numbers'},
                    [
                      item.flops && si(item.flops) + ' FLOP', item.bytes && bytes(item.bytes),
                      item.flops && intensity(item.intensity) + ' FLOP/B', `${seconds(item.floor_seconds)}, ${item.bound} bound`
                    ].filter(Boolean)
                        .join(' · ')),
            item.where && make('p', {}, item.where)]
            .filter(Boolean));
  });
  surface.addEventListener('pointermove', event => {
    if (tip.hidden) return;
    const {left, top, width, height} = stage.getBoundingClientRect(), x = event.clientX - left + 16, y = event.clientY - top + 16;
    tip.style.left = Math.max(4, Math.min(x, width - tip.offsetWidth - 12)) + 'px';
    tip.style.top = (y + tip.offsetHeight > height - 8 ? y - tip.offsetHeight - 30 : y) + 'px';
  });
  surface.addEventListener('pointerleave', () => { tip.hidden = true; mark(chosen); });
  surface.addEventListener('click', event => { if (travelled <= 4) choose(boxAt(event)); });
  // One stop of the Tab key for all boxes; from there the arrows walk: along the data, or in order.
  const follow = (i, from, to) => { const line = lines.find(line => line[from] === i); return line ? line[to] : i; };
  const walk = {ArrowRight: i => (i + 1) % items.length, ArrowLeft: i => (i + items.length - 1) % items.length,
                ArrowDown: i => follow(i, 'from', 'to'), ArrowUp: i => follow(i, 'to', 'from')};
  surface.addEventListener('keydown', event => {
    const i = boxAt(event);
    if (i < 0) return;
    if (event.key === 'Enter' || event.key === ' ') choose(i);
    else if (walk[event.key]) items[walk[event.key](i)].element.focus();
    else return;
    event.preventDefault();
  });
  surface.addEventListener('focusin', event => {
    const i = boxAt(event);
    if (i < 0) return;
    for (const box of surface.querySelectorAll('.box[tabindex="0"]')) box.setAttribute('tabindex', -1);
    event.target.setAttribute('tabindex', 0);
    mark(i);
    const box = event.target.getBoundingClientRect(), room = surface.getBoundingClientRect();
    if (!(box.left >= room.left && box.top >= room.top && box.right <= room.right && box.bottom <= room.bottom) && !pointers.size)
      centre(i);
  });
  const docs = new Map(report.ops.map(op => [op.op, op.doc]));
  const choose = (i, move) => {
    if (chosen >= 0) items[chosen].element.classList.remove('chosen');
    chosen = i;
    mark(i);
    detail.hidden = i < 0;
    if (i < 0) return;
    const item = items[i];
    item.element.classList.add('chosen');
    if (move) centre(i);
    const leads = name => makers.has(name) && makers.get(name) !== i;
    const valuePart = ({name, type, role}) => make('div', {class: 'value'},
        make('span', {title: name}, leads(name) ? plain(name, () => choose(makers.get(name), true)) : name),
        make('code', {}, ['parameter', 'buffer', 'constant'].includes(role) && role + ' ', type));
    const part = (title, ...content) => content.some(Boolean) ? [make('h4', {}, title), ...content] : [];
    const figures = [['limit', seconds], ['share', share], ['bound by', String], ['FLOPs', si], ['bytes', bytes], ['FLOP/B', intensity]];
    const keys = ['floor_seconds', 'share', 'bound', 'flops', 'bytes', 'intensity'];
    const figurePart = ([label, words], n) => make('div', {}, make('b', {}, words(item[keys[n]]) || '0'), label);
    detail.replaceChildren(make('button', {class: 'close', title: 'Close (Esc)', onclick: () => choose(-1)}, '×'),
        make('h3', {}, item.name), make('p', {class: 'doc'}, docs.has(item.op) ? `${item.op}: ${docs.get(item.op)}` : item.op), ...[
          item.share && make('div', {class: 'figures'}, figures.map(figurePart)),
          part('attributes', item.attributes && make('code', {}, item.attributes)),
          part('operands', ...(item.operands || []).map(valuePart)),
          part('results', ...(item.results || [item]).map(valuePart)),
          part('where', item.where && make('p', {class: 'where'}, item.where),
              item.module && make('p', {class: 'where mono'}, item.module)),
        ].flat().filter(Boolean));
    detail.scrollIntoView({block: 'nearest'});
  };

  // ---- search
  const search = make('input', {
    id: 'search',
    type: 'search',
    placeholder: 'Find a node, op, module or line',
    autocomplete: 'off',
    spellcheck: 'false',
    'aria-label': 'Find nodes'
  });
  const found = make('span', {id: 'found'});
  let hits = [], hit = -1;
  const find = () => {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    svg.classList.toggle('searching', words.length > 0);
    hits = items.map((_, i) => i).filter(i => {
      const matches = words.length > 0 &&
          words.every(word => word.startsWith('op:') ? items[i].op === word.slice(3) : items[i].search.includes(word));
      items[i].element.classList.toggle('hit', matches);
      return matches;
    });
    hit = -1;
    found.textContent = words.length ? `${hits.length} found` : '';
  };
  const lookFor = text => { search.value = text; find(); };
  search.addEventListener('input', find);
  search.addEventListener('keydown', event => {
    if (event.key !== 'Enter' || !hits.length) return;
    hit = (hit + (event.shiftKey ? hits.length - 1 : 1)) % hits.length;
    choose(hits[hit], true);
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
  const aside = make('aside', {}, detail,
      report.plan && planPart(report, name => makers.has(name) && choose(makers.get(name), true)), floorPart(report),
      make('section', {}, totalsPart(report)),
      make('section', {},
          section('By op',
              table(['op', ...['count', 'FLOPs', 'bytes'].map(number), number('FLOP/B', 'FLOP per byte'), number('share')],
                  report.ops.map(op => [{
                    text: plain(op.op, () => lookFor(search.value === 'op:' + op.op ? '' : 'op:' + op.op), op.doc),
                    sort: op.op
                  },
                                     {text: op.count, sort: op.count}, figure(op.flops, si), figure(op.bytes, bytes),
                                     figure(op.intensity, intensity), figure(op.share, share)]),
                  {compact: true, id: 'ops'}))),
      make('section', {},
          section('Heaviest nodes',
              table(['node', words('module'), number('share')],
                  items.map((item, i) => ({item, i}))
                      .filter(({item}) => item.share)
                      .sort((a, b) => b.item.share - a.item.share)
                      .slice(0, 12)
                      .map(({item, i}) => [{text: plain(item.name, () => choose(i, true), item.where), sort: item.name},
                               item.module || item.op, figure(item.share, share)]),
                  {compact: true}))),
      make('footer', {},
          'The theoretical limit is a time that no program for this graph can beat, from memory bandwidth and peak arithmetic. Shares compare each node on its own.'));
  const name = report.name || '(no name)';
  document.title = `${printable(name)} · StitchCUDA`;
  document.body.classList.add('graph');
  document.body.replaceChildren(byId('document'),
      make('header', {}, make('div', {class: 'title'}, make('h1', {id: 'name'}, name), make('p', {id: 'source'}, report.source)),
          make('div', {class: 'search'}, search, found, make('kbd', {}, '/'))),
      make('main', {}, stage, aside));
  open();
  // A link may name a node: page.html#conv2d, or ask for the whole: page.html#fit
  const named = decodeURIComponent(location.hash.slice(1));
  if (named === 'fit') fit();
  else if (makers.has(named)) choose(makers.get(named), true);
};

views.show = views.plan = graphView;
