// What each page must say and do, by its name: run on it by look.py. `all` is for every page of the viewer.
var failures = [];
var expect = (holds, what) => { if (!holds) failures.push(what); };
var equal = (found, wanted, what) => expect(JSON.stringify(found) === JSON.stringify(wanted), `${what}: ${JSON.stringify(found)} is not ${JSON.stringify(wanted)}`);
var text = element => (element || document.body).innerText;
var says = (...parts) => parts.forEach(part => expect(text().toLowerCase().includes(part.toLowerCase()), `does not say "${part}"`));
var saysNot = (...parts) => parts.forEach(part => expect(!text().includes(part), `says "${part}"`));
var column = (selector, name) => [...document.querySelectorAll(`${selector} td[data-column="${name}"]`)].filter(cell => cell.offsetParent).map(cell => cell.innerText);
var press = (selector, name) => [...document.querySelectorAll(selector)].find(one => one.innerText.trim().startsWith(name)).click();

var boxes = count => Array.from({length: count}, (_, i) => ({width: 100, height: 40, anchored: i === 0}));
var overlap = (a, b) => a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height;
var layouts = {
  'nothing, and one thing'() {
    equal(layOut([], []).frames, [], 'frames');
    equal(layOut(boxes(1), []).lines, [], 'lines');
  },
  'a chain is straight'() {
    const items = boxes(4);
    layOut(items, [[0, 1], [1, 2], [2, 3]]);
    for (let i = 1; i < 4; ++i) expect(Math.abs(items[i].x - items[0].x) < 0.01 && items[i].y > items[i - 1].y + 40, `box ${i}`);
  },
  'a residual passes beside the boxes'() {
    const line = layOut(boxes(4), [[0, 1], [1, 2], [2, 3], [0, 3]]).lines[3];
    expect(!line.far && line.path.includes('C'), line.path);
  },
  'branches do not overlap; the fork and the join stand in the middle'() {
    const items = boxes(10), arrows = [];
    for (let i = 1; i < 9; ++i) arrows.push([0, i], [i, 9]);
    layOut(items, arrows);
    expect(!items.some((a, i) => items.some((b, k) => i < k && overlap(a, b))), 'an overlap');
    expect(Math.abs(items[0].x - items[9].x) < 1, 'the middle');
  },
  'what follows from nothing waits for its first use'() {
    const items = boxes(6);
    layOut(items, [[0, 1], [1, 2], [2, 3], [3, 5], [4, 5]]);
    equal(items[4].y, items[3].y, 'its row');
  },
  'long chains become columns'() {
    const items = boxes(600), arrows = [];
    for (let i = 0; i + 1 < 600; ++i) arrows.push([i, i + 1]);
    const {width, height, lines} = layOut(items, [...arrows, [0, 599]]);
    expect(width / height > 0.7 && width / height < 3, `${width} by ${height}`);
    expect(lines[lines.length - 1].far, 'the long arrow is drawn on demand');
    expect(items.every(box => box.x >= 0 && box.x + box.width <= width && box.y + box.height <= height), 'a box outside');
  },
  'groups of three get a frame around their boxes'() {
    const items = boxes(5);
    for (const i of [1, 2, 3]) items[i].group = 'block';
    items[4].group = 'alone';
    const {frames} = layOut(items, [[0, 1], [1, 2], [2, 3], [3, 4]]);
    equal(frames.map(frame => frame.group), ['block'], 'frames');
    equal(items.map(box => overlap(frames[0], box)), [false, true, true, true, false], 'inside');
  },
  'frames hold no boxes of others'() {
    const items = boxes(5);
    for (const i of [0, 1, 3]) items[i].group = 'attention';
    for (const i of [2, 4]) items[i].group = 'norm';
    const {frames} = layOut(items, [[0, 1], [1, 2], [2, 3], [3, 4]], 2);
    equal(frames.length, 4, 'frames');
    expect(!frames.some(frame => items.some(box => box.group !== frame.group && overlap(frame, box))), 'another\'s box');
  },
  'figures are as the terminal has them'() {
    equal([0, 3.08e-4, 9.996e-4, 1.54e-3, -3e-5, 12.5, 1200, 7200].map(seconds), ['0 us', '308 us', '1000 us', '1.54 ms', '−30 us', '12.5 s', '20 min', '2 h'], 'seconds');
    equal([si(7), si(45_600), si(1.23e9), bytes(12_000), si(11_689_512, '', 4), si(0.25)], ['7', '45.6 k', '1.23 G', '12.0 kB', '11.69 M', '0.25'], 'si');
    equal(gain(4.39e-11, 6.14e-5), '', 'a gain that is nothing');
  },
  'texts of others stay text'() {
    equal(make('p', {}, '<b>x\u202e\u0007').innerHTML, '&lt;b&gt;x??', 'a paragraph');
    for (const address of ['javascript:alert(1)', 'https://x', '//x', '/etc']) equal(link('x', address).tagName, 'SPAN', address);
    equal(link('x', 'verdicts/0f.json').tagName, 'A', 'a file beside the page');
    equal(prose('a\n```cuda\nx < y\n```\nb').map(one => one.tagName), ['P', 'PRE', 'P'], 'fences');
  },
};

var pages = {
  show() {
    for (const [name, run] of Object.entries(layouts)) try { run(); } catch (error) { failures.push(`${name}: ${error}`); }
    equal(document.querySelectorAll('.box').length, 71, 'boxes');
    expect([...document.querySelectorAll('#frames text')].some(one => one.textContent === 'layer1.0'), 'the frame of layer1.0');
    says('11.69 M', 'Theoretical limit on H200');
    byId('search').value = 'op:conv';
    byId('search').dispatchEvent(new Event('input'));
    equal(text(byId('found')), '20 found', 'the search');
    press('#ops th button', 'count');
    equal(column('#ops', 'count')[0], '20', 'the most frequent op');
  },
  plan() {
    says('Steps', 'Regions', 'one CUDA graph', 'eager');
    expect(document.querySelectorAll('#frames rect').length > 5, 'regions have frames');
    document.querySelector('#regions td button').click();
    expect(!byId('detail').hidden, 'a region leads to its node');
  },
  optimize() {
    says('1.20x as fast as the best PyTorch', '41 values tried in the whole program, 2 kept, 3 decisions known from earlier runs', 'conv1_conv.algorithm = 3', '−30 us', '0.96x', '% of error', '1 region'.slice(2));
    const order = ['p.lead', '.times', '.facts', 'h2'].map(selector => document.querySelector(selector).getBoundingClientRect().top);
    expect(order.every((top, i) => !i || top > order[i - 1]), 'the first screen');
    const kernel = document.querySelector('details.kernel');
    expect(kernel.querySelector('.comment'), 'code is coloured');
    kernel.open = false;
    location.hash = '#code-fc_linear';
    openTarget();
    expect(kernel.open, 'a link to a kernel opens it');
  },
  'optimize-slower'() { says('Slower than PyTorch', 'step not kept: one CUDA graph'); },
  'optimize-emulated'() {
    says('estimated for an H200', 'launch of the call', 'the whole call', '170 us');
    saysNot('predicted', 'per call, measured', 'One call on the GPU');
  },
  profile() {
    says('a note about <b>nothing</b>', 'PyTorch per call', 'Regions of the program', 'Show all 40');
    press('.bar button', 'Longest');
    says('grid 264');
    for (let i = 0; i < 9 && !document.querySelector('tr.chosen'); ++i) press('.bar button', 'Next');  // to one of the program's
    expect(document.querySelector('tr.chosen'), 'its region is marked');
  },
  'profile-emulated'() { saysNot('device idle'); },
  run() {
    document.querySelectorAll('details').forEach(one => { one.open = true; });
    says('+// <script>alert(1)</script>', '<b>bold', 'Changes to the best program before it', 'Not tried again: half storage', 'One thread an element.', 'That is <b>all</b>',
         '900 tokens in, 64 out · 12.5 s', 'calls read_file', 'contract.md', 'x: f32[64], row-major', 'no answer for 120 s', '2.18x');
    equal(document.querySelectorAll('li.kept').length, 3, 'steps kept');
    equal(text().split('Write fc1_relu. It').length - 1, 2, 'prompts: the Coder\'s, the Planner\'s');
  },
  bench() {
    const rows = () => column('#tasks', 'task').length, [folder, result] = document.querySelectorAll('.bar select'), words = document.querySelector('.bar input');
    const choose = (input, value) => { input.value = value; input.dispatchEvent(new Event('input')); };
    equal(rows(), 252, 'tasks');
    equal(document.querySelector('#tasks a').getAttribute('href'), 'programs/level1/a/report.html', 'the report');
    choose(result, 'failed');
    equal(rows(), 2, 'failed');
    choose(result, 'faster');
    expect(column('#tasks', 'speedup').every(cell => parseFloat(cell) >= 1), 'only the faster ones');
    choose(result, '');
    choose(folder, 'level3');
    choose(words, 'resnet');
    expect(rows() > 1 && column('#tasks', 'task').every(name => /level3.*resnet/i.test(name)), 'level 3\'s ResNets');
    choose(words, '');
    choose(folder, '');
    press('#tasks th button', 'speedup');
    const speedups = column('#tasks', 'speedup').filter(Boolean).map(parseFloat);
    expect(speedups.every((value, i) => !i || value <= speedups[i - 1]), 'the fastest first');
    equal(column('#tasks', 'speedup').slice(-2), ['', ''], 'tasks without a time stay below');
    press('.bar button', '↓');
    expect(column('#tasks', 'speedup').filter(Boolean).map(parseFloat).every((value, i, all) => !i || value >= all[i - 1]), 'the slowest first');
    says('fast_p', 'known baselines', 'memory vs PyTorch');
    saysNot('{"');
  },
  'verify-all'() {
    says('pass@3', 'returns an earlier result', 'median speedup', 'full hack');
    expect([...document.querySelectorAll('td a')].some(one => one.getAttribute('href').startsWith('verdicts/')), 'links to verdicts');
  },
  'verify-all-emulated'() { saysNot('fast_1', 'median speedup', '–'); },
  train() { equal(document.querySelectorAll('svg.plot').length, 2, 'curves'); },
  serve() {
    says('Latest verdicts', 'mean reward', '661', '67 minutes');
    expect(document.querySelectorAll('.plot text').length > 6, 'axes');
  },
};
var checks = page => {
  failures = [];
  if (page === 'bad') return failures;
  expect(!document.querySelector('img'), 'markup of strangers became an element');
  expect(document.title.endsWith('StitchCUDA') && document.title.length > 13, `title: ${document.title}`);
  for (const head of document.querySelectorAll('th')) {
    const i = head.cellIndex, cells = [...head.closest('table').tBodies[0].rows].map(row => row.cells[i]);
    expect(i === 0 || cells.some(cell => cell && cell.textContent), `an empty column: ${head.innerText}`);
    if (head.innerText !== 'sample' && cells.filter(cell => /^[\d.,]+( ?[%x]| [kMGnu]?[sB])?$/.test(cell.innerText)).length > cells.length / 2) expect(head.classList.contains('n'), `numbers to the left: ${head.innerText}`);
  }
  if (pages[page]) try { pages[page](); } catch (error) { failures.push(`fails: ${error.stack}`); }
  return failures;
};
