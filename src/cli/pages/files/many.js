// Many programs at once: bench, verify --all, train, and the reward service.

// Settings as rows: what is in an object has its name before its own.
const settingsRows = (settings, before = '') => Object.entries(settings).flatMap(([key, value]) => {
  const name = before + key.replaceAll('_', ' ');
  const word = one => one === true ? 'yes' : one === false ? 'no' : typeof one === 'string' ? one : JSON.stringify(one);
  if (value && typeof value === 'object' && !Array.isArray(value)) return settingsRows(value, name + ', ');
  const text = value === null ? '' : Array.isArray(value) ? value.map(word).join(', ') : word(value);
  return text === '' ? [] : [[name, text]];
});
const settingsPart = run => section('Run settings', table([words('setting'), sentence('value')], settingsRows(run)));

// Above a table: words to filter by, choices, and what it is sorted by, for windows too narrow for column heads.
// `choices`: [{name, options: [[value, text]], holds(row, value)}]
const filterBar = (list, choices, one, many) => {
  const field = (name, input) => make('label', {}, name, input), option = ([value, text]) => make('option', {value}, text);
  const words = make('input', {type: 'search', placeholder: 'words in any column', autocomplete: 'off', spellcheck: 'false'});
  const selects = choices.filter(choice => choice.options.length > 1)
                      .map(choice => ({choice, select: make('select', {}, [['', 'all'], ...choice.options].map(option))}));
  const sortBy = make('select', {}, [['-1', 'order of running'], ...list.shown.map(i => [String(i), list.columns[i].name])].map(option));
  const shown = make('span', {class: 'soft'}), direction = make('button', {type: 'button'});
  let up = true;
  const sort = () => list.sort(+sortBy.value, up);
  list.onsort = (i, ascending) => {
    sortBy.value = String(i), up = ascending;
    direction.textContent = up ? '↑ ascending' : '↓ descending';
  };
  const filter = () => {
    const wanted = words.value.toLowerCase().split(/\s+/).filter(Boolean);
    const kept = list.rows.filter(row => {
      const text = row.element.textContent.toLowerCase();
      row.element.hidden = !wanted.every(word => text.includes(word)) ||
          selects.some(({choice, select}) => select.value && !choice.holds(row, select.value));
      return !row.element.hidden;
    }).length;
    shown.textContent = (kept === list.rows.length ? '' : `${kept} of `) + counted(list.rows.length, one, many);
  };
  sortBy.onchange = sort;
  direction.onclick = () => { up = !up; sort(); };
  for (const input of [words, ...selects.map(one => one.select)]) input.oninput = filter;
  sort();
  filter();
  return make('div', {class: 'bar'}, field('Filter', words), selects.map(({choice, select}) => field(choice.name, select)),
      field('Sort by', sortBy), direction, shown);
};
const points = score => score.toFixed(2);
views.bench = summary => {
  const {all, run} = summary, over = (score, name, kind) => ((score.speedup || {})[name] || {})[kind];
  const kept = score => [{text: `${score.passed || 0}/${score.tasks || 0}`, sort: score.passed},
      ...['fast_1', 'fast_1.5', 'fast_2', 'fast_3'].map(key => ({text: key in score ? percent(score[key]) : '', sort: score[key]})),
      figure(over(score, 'best', 'mean'), times),
      ...['best', 'eager', 'eager-graph', 'compile', 'compile-graph'].map(
          name => figure(over(score, name, 'geometric_mean'), times)),
      figure((score.share_of_floor || {}).mean, percent), figure((score.score || {}).mean, points),
      figure((score.share_of_memory || {}).geometric_mean, percent)];
  const scores = table(
      [
        '',
        ...['passed', 'fast_1', 'fast_1.5', 'fast_2', 'fast_3', 'mean vs best', 'geomean vs best', 'vs eager', 'vs eager-graph',
            'vs compile', 'vs compile-graph', '% of limit', 'score', 'memory vs PyTorch']
            .map(number)
      ],
      [
        ...Object.entries(summary.groups).map(([name, score]) => [name, ...kept(score)]), {last: true, cells: ['all', ...kept(all)]}
      ]);
  const tasks = table(
      [
        words('task'), 'result', number('per call'), number('best baseline'), words('which'),
        ...['speedup', '% of limit', 'score', 'memory vs PyTorch', 'time taken'].map(number), sentence('reason')
      ],
      summary.tasks.map(task => {
        const best = task.best_baseline, known = task.best_baseline_known, speedup = (task.speedups || {}).best;
        return {
          task,
          speedup,
          cells: [
            {text: task.report ? link(task.task, task.report) : task.task, sort: task.task},
            {text: task.passed ? 'passed' : task.code, look: task.passed ? 'good' : 'bad'},
            figure(task.passed && task.seconds_a_call), figure(best && (known ? task.known_baselines : task.baselines)[best]),
            best && best + (known ? ' (known)' : ''), figure(best && speedup, times), figure(task.share_of_floor, percent),
            task.below_floor ? {text: 'below limit', look: 'bad'} : figure(task.score, points), figure(task.share_of_memory, percent),
            figure(task.seconds), task.reason
          ]
        };
      }),
      {id: 'tasks'});
  const timed = all.speedup ? [['faster', 'faster than the best PyTorch'], ['slower', 'slower than the best PyTorch']] : [];
  const beside = (speedup, wanted) => speedup > 0 && (wanted === 'faster') === speedup > 1;
  const holds = ({task, speedup}, wanted) =>
      wanted === 'failed' ? !task.passed : task.passed && (wanted === 'passed' || beside(speedup, wanted));
  const choices = [
    {name: 'Folder', options: Object.keys(summary.groups).map(name => [name, name]), holds: (row, group) => row.task.group === group},
    {name: 'Result', options: [['passed', 'passed'], ['failed', 'failed'], ...timed], holds},
  ];
  const failures = Object.entries(summary.failures).map(([code, count]) => [code, figure(count, String)]);
  const kernels = far => far.kernels.map(kernel => `${kernel.name} (${nanoseconds(kernel.nanoseconds)})`).join(', ');
  const furthest = summary.furthest.filter(far => (far.kernels || []).length)
      .map(far => [far.task, figure(far.share_of_floor, percent), kernels(far)]);
  const best = over(all, 'best', 'geometric_mean'), shareOf = key => key in all ? percent(all[key]) : '';
  show('stitchcuda bench',
      facts([[`${all.passed || 0}/${all.tasks || 0}`, 'passed'], [shareOf('fast_1'), 'fast_1'], [shareOf('fast_2'), 'fast_2'],
          [best ? times(best) : '', 'geomean over the best baseline'], [all.score ? points(all.score.mean) : '', 'score'], [run.numerics, 'numerics class'], [run.gpu, run.device],
          [run.version, `stitchcuda, ${run.date}`]]),
      note((summary.notes || []).join(' ')), scores,
      section('Why tasks failed', table(['failed gate', number('tasks')], failures)),
      section('Furthest from their theoretical limit',
          table([words('task'), number('% of limit'), sentence('kernels')], furthest, {most: 8})),
      tasks && section('Tasks', filterBar(tasks, choices, 'task'), tasks), settingsPart(run));
};

views.verify_all = summary => {
  const {all, run, authors} = summary, kinds = ['wrong', 'build failed', 'crashed', 'inconclusive', 'hack', 'misbehaved', 'not judged'];
  const k = Math.max(1, ...authors.flatMap(author => Object.keys(author.pass_at).map(Number)));
  const rate = value => value === undefined ? '' : {text: percent(value.rate ?? value, 1), sort: value.rate ?? value};
  const kindCells = row => kinds.map(kind => figure(row[kind], String));
  const results = table(
      [...['task', 'author', 'sample'].map(words), 'result', 'gate', number('per call'), number('speedup'), sentence('reason')],
      summary.candidates.map(record => {
        const result = record.judgement === 'failed' ? record.kind : record.judgement,
              look = {passed: 'good', failed: 'bad'}[record.judgement] || 'warning';
        return {
          record,
          cells: [
            record.task, record.author, record.sample,
            {text: record.verdict ? link(result, record.verdict) : result, look, sort: result}, record.gate,
            figure(record.seconds_a_call), figure((record.speedups || {}).best, times), record.reason
          ]
        };
      }));
  const authorColumns = ['tasks', 'candidates', 'passed', 'pass@1', ...(k > 1 ? ['pass@' + k] : []), 'fast_1', 'fast_2', 'median speedup'];
  const authorCells = row => [
    row.author, `${row.tasks}/${row.all_tasks}`, figure(row.candidates, String), {text: row.passed, sort: row.passed},
    rate(row.pass_at[1]), ...(k > 1 ? [rate(row.pass_at[k])] : []),
    ...(run.timed ? [rate((row.fast_p || {})[1]), rate((row.fast_p || {})[2]), figure(row.median_speedup, times)] : ['', '', '']),
    ...kindCells(row),
  ];
  const taskCells = row => [
    row.task, {text: `${row.passed}/${row.candidates}`, sort: row.passed}, ...kindCells(row), figure(row.best_seconds),
    figure(row.best_speedup, times), row.best_author,
  ];
  const hacks = authors.flatMap(row => Object.entries(row.hacks).map(([label, count]) => [row.author, label, figure(count, String)]));
  const labels = authors.flatMap(row => Object.entries(row.honesty || {}).map(([label, {count, rate}]) =>
      [row.author, label, figure(count, String), figure(rate, percent)]));
  const choices = [
    {name: 'Author', options: authors.map(row => [row.author, row.author]), holds: (row, author) => row.record.author === author},
    {name: 'Result', options: ['passed', 'failed', 'not judged'].map(word => [word, word]),
     holds: (row, judgement) => row.record.judgement === judgement},
  ];
  show('stitchcuda verify --all',
      facts([[`${all.passed}/${all.candidates}`, 'passed'], [String(authors.length), 'authors'], [String(summary.tasks.length), 'tasks'],
          [String(all.hack), 'hacks'], [String(all['not judged']), 'not judged'], [run.numerics, 'numerics class'],
          [run.version, `stitchcuda, ${run.date}`]]),
      note((summary.notes || []).join(' ')),
      section('Authors', table([words('author'), ...[...authorColumns, ...kinds].map(number)], authors.map(authorCells))),
      section('Labels', note('Whether programs do the work themselves.'),
          table([words('author'), words('label'), number('candidates'), number('share')], labels)),
      section('Hacks', table([words('author'), words('hack'), number('candidates')], hacks)),
      section('Tasks', table([words('task'), ...['passed', ...kinds, 'best time', 'speedup'].map(number), words('by')],
          summary.tasks.map(taskCells))),
      results && section('Candidates', note('The result links to the whole verdict, with each gate\'s evidence.'),
          filterBar(results, choices, 'candidate'), results),
      settingsPart(run));
};

views.train = ({gpu, reward, tasks, trained, held_out, curve}) => {
  const chart = (title, field, look) => {
    const points = curve.filter(point => typeof point[field] === 'number').map(point => [point.epoch, point[field]]);
    return points.length > 1 && make('figure', {}, make('figcaption', {}, title), plot([{class: look, points}], 'epoch'));
  };
  const held = held_out.time_over_built_in || [], three = value => (value ?? 1).toFixed(3);
  show('stitchcuda train', facts([
    [gpu, 'GPU'], [reward, 'times by'], [String(tasks), 'tasks'], [String(trained.epochs), 'epochs'],
    [three(trained.validation), 'validation: time over built-in']
  ]),
      section('Held-out regions',
          table([words('who chooses'), number('time over built-in'), number('95 %')],
              held.map(each => [each.who, {text: three(each.geomean), sort: each.geomean},
                           `${three(each.low)} to ${three(each.high)}`]))),
      section('Curves', chart('loss', 'loss', 'reward'),
          chart('validation: geometric mean of the time over the built-in Planner\'s', 'validation', 'correct')));
};

const labelLooks = {hack: 'bad', wrong: 'warning', crashed: 'warning', misbehaved: 'warning', 'not built': 'warning'};
const labelLook = label => label.startsWith('correct') ? 'good' : labelLooks[label] || '';
views.service = status => {
  const {judging, queue, curve, labels, latest, workers} = status, last = curve[curve.length - 1];
  const all = Object.values(labels).reduce((sum, count) => sum + count, 0);
  let judged = 0;
  const at = curve.map(point => judged += point.answers),
        line = name =>
            ({class: name, points: curve.map((point, i) => [at[i], point[name]]).filter(point => typeof point[1] === 'number')});
  const some = table => table || make('p', {class: 'note'}, 'none yet'),
        whole = value => value.toLocaleString('en', {maximumFractionDigits: 0}),
        tenth = value => value.toLocaleString('en', {maximumFractionDigits: 1});
  const key = (look, text) => make('span', {}, make('i', {class: look}), text);
  show('Reward service',
      make('p', {id: 'about'},
          `stitchcuda ${judging.version}, device ${judging.device}, numerics class ${judging.numerics}, reward ${judging.reward}, ${
              counted(status.tasks, 'task')}; up for ${counted(Math.round(status.uptime / 60), 'minute')}`),
      make('p', {id: 'trouble', class: 'bad', role: 'status'}), facts([
        [whole(queue.waiting), 'waiting'], [whole(queue.judging), 'being judged'],
        [tenth(status.verdicts_a_minute), 'verdicts per minute'], [whole(status.answers_kept), 'answers stored'],
        [whole(status.from_store), 'answered from the store'], [whole(workers.length), 'remote workers']
      ]),
      section('Reward',
          last ? make('figure', {}, plot(['reward', 'correct', 'hacks'].map(line), 'verdicts', {from: 0, to: 1}),
                     make('figcaption', {}, key('reward', `mean reward ${round(last.reward || 0)}`),
                         key('correct', `correct ${percent(last.correct || 0, 1)}`),
                         key('hacks', `hacks ${percent(last.hacks || 0, 1)}`),
                         make('span', {}, `means over ${counted(curve[0].answers, 'verdict')} a point`))) :
                 note('No verdicts yet.')),
      section('Labels',
          some(table(['label', number('verdicts'), number('share')], Object.entries(labels).sort((a, b) => b[1] - a[1]).map(([
            label, count
          ]) => [{text: label, look: labelLook(label)}, figure(count, whole), figure(count / all, value => percent(value, 1))]),
              {fixed: true}))),
      section('Latest verdicts',
          some(table(
              [words('task'), 'label', number('reward'), sentence('why'), number('seconds'), words('machine'), number('time')],
              latest.map(
                  each => [each.task, {text: each.label, look: labelLook(each.label)},
                      {text: each.counted ? round(each.reward || 0) : 'none', sort: each.counted ? each.reward : null}, each.reason,
                      {text: tenth(each.seconds), sort: each.seconds}, each.machine, each.date.replace('T', ' ').replace('Z', '')]),
              {fixed: true}))),
      section('Workers',
          some(table([words('worker'), number('last seen')],
              workers.map(each => [each.name, {text: `${whole(each.seconds_ago)} s ago`, sort: each.seconds_ago}]),
              {fixed: true}))));
  if (location.protocol !== 'file:') setTimeout(refresh, 2000);
};
const refresh = async () => {
  try {
    const answer = await fetch('status' + location.search);
    if (!answer.ok) throw new Error(answer.status);
    const status = await answer.json(), at = scrollY;
    views.service(status);
    scrollTo(0, at);
  } catch {
    byId('trouble').textContent = 'The service does not respond; this is its last known state.';
    setTimeout(refresh, 2000);
  }
};

// ---- the page's own view
views[document.body.className](JSON.parse(byId('document').textContent));
