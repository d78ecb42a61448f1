// profile: both sides' calls on one scale, then what limits them, regions, kernels, sources.

// One canvas. Time is in nanoseconds from the start of a call. `about(box)`: pairs of what is known of a box.
const timeline = (sides, about, onChoose) => {
  const mostBoxes = 20000;  // of a side
  const axis = 26, titleHeight = 24, laneHeight = 30, sideGap = 8, left = 8;
  const canvas = make('canvas', {
    id: 'timeline',
    tabindex: 0,
    role: 'application',
    'aria-label': 'Timelines of one call; the tables below have the same kernels'
  });
  const chosenPanel = make(
      'div', {id: 'chosen', 'aria-live': 'polite'}, 'Choose a kernel to see its launch, region, source and the model\'s line.');

  // Rows from top to bottom: a title a side, then its lanes; boxes of a lane by start.
  const rows = [], boxes = [], shades = new Map();
  let height = axis;
  for (const side of sides) {
    const short = new Map(side.summary.by_name.map(sum => [sum.name, sum.short_name])), timed = side.times !== 'none';
    const boxOf = (activity, host, i) => {
      if (!shades.has(activity.name)) shades.set(activity.name, shades.size % 5);
      // Without times each is as long as the next.
      return {
        side,
        activity,
        host,
        region: host ? undefined : (side.owners || [])[i],
        name: short.get(activity.name) || activity.name,
        shade: shades.get(activity.name),
        start: timed ? activity.start_ns || 0 : i * 1000,
        end: timed ? activity.end_ns || 0 : i * 1000 + 900
      };
    };
    const calls = timed ? side.timeline.host.slice(0, mostBoxes / 2).map((call, i) => boxOf(call, true, i)) : [];
    const all =
        [...calls, ...side.timeline.activities.slice(0, mostBoxes - calls.length).map((activity, i) => boxOf(activity, false, i))];
    const how = side.times === 'measured' ? '' : side.times === 'estimated' ? ', estimated' : ', in order';
    rows.push({title: `${side.side} (${side.title})${how}`, y: height});
    height += titleHeight;
    const lanes = new Map();
    for (const box of all) {
      const lane = box.host ? 'host' : `stream ${box.activity.stream || 0}`;
      if (!lanes.has(lane)) lanes.set(lane, []);
      lanes.get(lane).push(box);
    }
    for (const [lane, own] of lanes) {
      rows.push({lane, y: height, boxes: own});
      for (const box of own) box.y = height;
      boxes.push(...own);
      height += laneHeight;
    }
    height += sideGap;
  }
  boxes.sort((a, b) => a.start - b.start);
  const kernels = boxes.filter(box => !box.host), end = boxes.reduce((most, box) => Math.max(most, box.end), 1);
  let from = 0, to = end * 1.01, chosen = null, width = 0;

  const inView = (a, b) => {
    const length = Math.min(Math.max(b - a, 20, end * 1e-6), end * 1.05);
    from = Math.max(Math.min(Math.max(a, -end * 0.02), end * 1.03 - length), -end * 0.02);
    to = from + length;
    paint();
  };
  const x = time => left + (time - from) / (to - from) * (width - 2 * left);
  const timeAt = pixel => from + (pixel - left) / (width - 2 * left) * (to - from);
  const zoom = (factor, pixel = width / 2) => {
    const at = timeAt(pixel);
    inView(at - (at - from) * factor, at + (to - at) * factor);
  };
  const pan = part => inView(from + part * (to - from), to + part * (to - from));
  const paint = () => {
    const style = getComputedStyle(document.documentElement), colour = name => style.getPropertyValue(name).trim();
    const dark = matchMedia('(prefers-color-scheme: dark)').matches, scale = window.devicePixelRatio || 1,
          context = canvas.getContext('2d');
    width = canvas.clientWidth;
    canvas.style.height = `${height}px`;
    canvas.width = Math.round(width * scale), canvas.height = Math.round(height * scale);
    context.setTransform(scale, 0, 0, scale, 0, 0);
    context.font = `12px ${getComputedStyle(document.body).fontFamily}`;
    context.textBaseline = 'middle';
    // A tick every 1, 2 or 5 of something, about 110 pixels apart.
    const wanted = (to - from) * 110 / width, power = 10 ** Math.floor(Math.log10(wanted)),
          step = [1, 2, 5, 10].map(one => one * power).find(one => one >= wanted);
    for (let time = Math.ceil(from / step) * step; time <= to; time += step) {
      context.fillStyle = colour('--rule');
      context.fillRect(x(time), axis - 6, 1, height - axis);
      context.fillStyle = colour('--soft');
      const text = Math.abs(time) < step / 2 ? '0' : nanoseconds(time);
      if (time > -step / 2 && x(time) + context.measureText(text).width < width) context.fillText(text, x(time) + 4, axis / 2);
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
        const kernel = !box.host && box.activity.kind === 'kernel';
        context.fillStyle = colour(box.host ? '--b0' : kernel ? `--b${3 + box.shade}` : '--line');
        context.fillRect(begin, row.y + 4, Math.max(stop - begin - (stop - begin > 3 ? 1 : 0), 1), laneHeight - 8);
        if (box === chosen) {
          context.strokeStyle = colour('--accent');
          context.lineWidth = 2;
          context.strokeRect(begin - 1, row.y + 3, Math.max(stop - begin, 2) + 1, laneHeight - 6);
        }
        if (stop - begin <= 46) continue;
        context.save();
        context.beginPath();
        context.rect(begin, row.y, stop - begin - 4, laneHeight);
        context.clip();
        context.fillStyle = !dark && (!kernel || box.shade < 3) ? '#1d1f23' : '#ffffff';
        context.fillText(box.name, begin + 5, row.y + laneHeight / 2);
        context.restore();
      }
      context.fillStyle = colour('--soft');
      if (from <= 0 && row.boxes.length && x(row.boxes[0].start) > left + 80)
        context.fillText(row.lane, left + 4, row.y + laneHeight / 2);
    }
  };
  const choose = (box, move) => {
    chosen = box;
    onChoose(box);
    if (box) {
      const activity = box.activity, known = [
        [
          'time',
          box.side.times !== 'none' &&
              `${nanoseconds(box.end - box.start)}, from ${nanoseconds(box.start)} on${
                  box.side.times === 'estimated' ? ' (estimated)' : ''}`
        ],
        [
          'launch',
          activity.grid &&
              `grid ${activity.grid.join(' × ')}, block ${activity.block.join(' × ')}` +
                  (activity.registers ? `, ${activity.registers} registers` : '') +
                  (activity.shared_bytes ? `, ${activity.shared_bytes} B shared` : '')
        ],
        ['bytes', activity.bytes && activity.bytes.toLocaleString('en')],
        [
          'counters',
          activity.counters &&
              Object.entries(activity.counters).map(([name, value]) => `${name} ${+ value.toPrecision(4)}`).join(', ')
        ],
        ...about(box)
      ];
      chosenPanel.replaceChildren(make('b', {}, activity.name), make('dl', {}, known.filter(([, value]) => value)
          .map(([what, value]) => [make('dt', {}, what), make('dd', {}, value)])));
      if (move && (box.start < from || box.end > to)) inView(box.start - (to - from) * 0.3, box.start + (to - from) * 0.7);
    }
    paint();
  };
  const boxAt = event => {
    const room = canvas.getBoundingClientRect(), y = event.clientY - room.top, time = timeAt(event.clientX - room.left),
          slack = (to - from) / width * 3;
    return boxes.filter(box => y >= box.y && y < box.y + laneHeight && time >= box.start - slack && time <= box.end + slack)
        .reduce((best, box) => !best || box.end - box.start < best.end - best.start ? box : best, null);
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
      canvas.title = box ? `${box.name} · ${nanoseconds(box.end - box.start)}` : '';
      return;
    }
    const before = [...pointers.values()], spread = Math.abs(before[0] - (before[1] ?? 0)),
          delta = event.clientX - pointers.get(event.pointerId);
    pointers.set(event.pointerId, event.clientX);
    moved += Math.abs(delta);
    if (pointers.size === 1) return pan(-delta / (width - 2 * left));
    const now = [...pointers.values()];
    zoom(Math.min(Math.max(spread / Math.max(Math.abs(now[0] - now[1]), 10), 0.5), 2),
        (now[0] + now[1]) / 2 - canvas.getBoundingClientRect().left);
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
    if (event.ctrlKey || event.metaKey || event.altKey)
      zoom(Math.exp(event.deltaY * 0.004), event.clientX - canvas.getBoundingClientRect().left);
    else if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) pan((event.deltaX || event.deltaY) / width);
    else return;
    event.preventDefault();
  }, {passive: false});
  const neighbour = step => choose(kernels[Math.min(Math.max(kernels.indexOf(chosen) + step, 0), kernels.length - 1)], true);
  const actions = {
    'Zoom in': () => zoom(0.5),
    'Zoom out': () => zoom(2),
    'Whole call': () => inView(0, end * 1.01),
    Previous: () => neighbour(-1),
    Next: () => neighbour(1),
    Longest: () => choose(kernels.reduce((a, b) => b.end - b.start > a.end - a.start ? b : a), true),
  };
  const keys = {
    '+': 'Zoom in',
    '=': 'Zoom in',
    '-': 'Zoom out',
    0: 'Whole call',
    Home: 'Whole call',
    n: 'Next',
    p: 'Previous',
    l: 'Longest'
  };
  canvas.addEventListener('keydown', event => {
    const action = event.key === 'ArrowLeft' ? () => pan(-0.2) : event.key === 'ArrowRight' ? () => pan(0.2) : actions[keys[event.key]];
    if (!action || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    action();
  });
  new ResizeObserver(paint).observe(canvas);
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', paint);
  return [
    make('div', {class: 'bar'},
        Object.entries(actions).map(([name, action]) => make('button', {type: 'button', onclick: action}, name)),
        make('span', {}, 'Drag to pan, Ctrl + wheel or pinch to zoom; keys: arrows, + − 0, n p l')),
    canvas, chosenPanel
  ];
};

views.profile = ({sides, sources = {}, model, program, device, gpu, notes}) => {
  const files = Object.keys(sources), toSource = file => files.includes(file) ? link(file, `#source-${files.indexOf(file)}`) : file;
  const about = box => {
    const region = (box.side.regions || [])[box.region];
    if (!region) return [];
    const diagnosis = region.diagnosis;
    return [
      ['region', link(region.name, `#region-${box.region}`)], ['source', region.file && toSource(region.file)],
      ['model', (region.lines || []).join(' · ')], ['bound by', diagnosis && `${diagnosis.bottleneck}: ${diagnosis.suggestion}`]
    ];
  };
  const onChoose = box => {
    for (const row of document.querySelectorAll('tr.chosen')) row.classList.remove('chosen');
    const row = box && byId(`region-${box.region}`);
    if (row) row.classList.add('chosen');
  };
  const figures = side => {
    const {summary, side: who} = side, span = summary.span_ns * 1e-9;
    return [
      side.seconds_a_call ? [seconds(side.seconds_a_call), `${who} per call, ${side.times}`] :
          span > 0 ? [seconds(span), `${who} per call on the device, ${side.times}`] :
                     [''],
      [String(summary.kernels), `kernels, ${who}`],
      side.times === 'measured' ? [percent(summary.idle_share), `device idle, ${who}`] : [''],
      [side.diagnosis.bottleneck, `limits ${who}`]
    ];
  };
  const whose = side => side.side === 'PyTorch' ? 'PyTorch' : 'the program';
  const regions = ({regions = [], suggestions = []}) => section('Regions of the program',
      table([words('regions'), sentence('suggestion'), number('gain, at most')],
          suggestions.map(each => [each.regions, each.text, figure(each.gain_seconds)])),
      table(
          [
            words('region'), ...['time', 'share', 'launches'].map(number), 'bound by', number('gain'), words('technique'),
            words('source'), words('model')
          ],
          regions.map((region, i) => {
            const diagnosis = region.diagnosis || {};
            return {
              attributes: {id: `region-${i}`},
              cells: [
                region.name, figure(region.seconds), figure(diagnosis.share, percent), figure(region.launches, String),
                diagnosis.bottleneck, figure(region.gain_seconds), region.technique,
                {text: toSource(region.file), sort: region.file},
                (region.lines || []).length > 0 && make('div', {}, region.lines.map(line => make('div', {}, line)))
              ]
            };
          }),
          {most: 24}));
  const kernels = side => section(`Kernels of ${whose(side)}`, table([words('kernel'), number('launches'), number('time')],
      side.summary.by_name.map(sum => [sum.name, figure(sum.count, String), figure(sum.nanoseconds, nanoseconds)]), {most: 12}));
  const metrics = ({metrics = [], counters_missing}) => {
    const rows = metrics.flatMap(kernel => Object.entries(kernel.values).map(([metric,
      value]) => [kernel.kernel, metric, {text: String(+value.toPrecision(6)), sort: value}]));
    return rows.length ?
        section('Metrics',
            fold(`${counted(rows.length, 'value')} of ${counted(metrics.length, 'kernel')}`, note(counters_missing),
                table([words('kernel'), words('metric'), number('value')], rows, {most: 50}))) :
        [];
  };
  show(`Profile of ${baseName(model || program)}`,
      facts([...sides.flatMap(figures), [gpu, device === 'cuda' ? 'GPU' : 'GPU of the estimates']]),
      section('One call', timeline(sides, about, onChoose)),
      sides.map(side => [make('p', {class: 'diagnosis'}, make('b', {}, side.side), `: ${side.bottleneck}`), note(side.note)]),
      notes.map(text => note(text)), [...sides].reverse().map(side => [regions(side), kernels(side), metrics(side)]),
      section('Sources',
          files.map((file, i) =>
                        make('details', {id: `source-${i}`}, make('summary', {}, make('code', {}, file)), code(sources[file])))));
};
