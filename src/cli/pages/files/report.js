// optimize's report and a run's page: where the speed came from, what the device did, how it is known, what was said.

const gateLooks = {passed: 'good', failed: 'bad'};
const gatesTable = gates => table(['gate', 'result', number('time taken'), sentence('evidence')], gates.map(gate =>
    [gate.gate, {text: gate.outcome, look: gateLooks[gate.outcome]}, figure(gate.outcome !== 'skipped' && gate.seconds), gate.summary]));
const evidenceOf = (verdict, gate) => ((verdict.gates || []).find(one => one.gate === gate) || {}).evidence;

const ledgerPart = ledger => {
  const measured = ledger.times === 'measured';  // an estimated gain is its own prediction
  return section('Ledger', table([words('step'), number(`per call, ${ledger.times}`), number('speedup'), number('time saved'),
      number('predicted'), 'result', sentence('why')], ledger.steps.map(step => {
        const before = step.before_seconds || 0, after = step.after_seconds || 0, both = before > 0 && after > 0;
        const settings = Object.entries(step.settings || {}).map(([name, value]) => `${name} = ${JSON.stringify(value)}`).join(', ');
        return [
          step.step, figure(after),
          {text: both && before !== after ? times(before / after) : '', sort: both ? before / after : null},
          {text: both ? gain(before - after, before) : '', sort: both ? before - after : null},
          {text: measured ? gain(step.predicted_gain_seconds || 0, before) : '', sort: step.predicted_gain_seconds},
          {text: step.kept ? 'kept' : step.fate || 'rolled back', look: step.kept ? 'good' : 'warning'},
          step.kept ? [step.why, settings].filter(Boolean).join(': ') : step.reason
        ];
      })));
};

// Kernels of one call on the GPU, each as long as it ran; neighbours differ in shade, to be told apart. The emulated GPU's
// launches have no times to draw.
const callPart = (verdict, bottleneck) => {
  const {activities, span_ns: span} = evidenceOf(verdict, 'profile') || {};
  if (!(span > 0)) return [];
  const label = `${counted(activities.length, 'launch', 'launches')}, ${nanoseconds(span)}`;
  return section('One call on the GPU',
      make('div', {class: 'lane'}, make('p', {}, label),
          draw('svg', {viewBox: '0 0 1000 10', preserveAspectRatio: 'none', role: 'img', 'aria-label': label},
              activities.map(([name, begin, length], i) => draw('rect', {
                x: (begin * 1000 / span).toFixed(2),
                y: 1,
                width: Math.max(length * 1000 / span, 0.2).toFixed(2),
                height: 8,
                fill: 'var(--accent)',
                'fill-opacity': i % 2 ? 0.6 : 1
              },
                                 draw('title', {}, `${name} · ${nanoseconds(length)}`))))),
      note(bottleneck));
};

const tuningPart = tuning => {
  if (!tuning || !Object.keys(tuning).length) return [];
  if (tuning.skipped) return section('Tuning', note(`None: ${tuning.skipped}.`));
  return section('Tuning',
      note(`${counted(tuning.tried || 0, 'value')} tried in the whole program, ${tuning.kept || 0} kept`,
          tuning.known && `, ${counted(tuning.known, 'decision')} known from earlier runs`,
          tuning.ended && `; ended early: ${tuning.ended}`, '.'),
      table([words('setting'), number('value dropped'), sentence('why')],
          (tuning.dropped || []).map(one => [one.name, JSON.stringify(one.value), one.reason])));
};

const regionsPart = (run, regions, sources) => {
  const whole = run.predicted_seconds || 0, expected = regions.reduce((sum, region) => sum + (region.estimated_seconds || 0), 0);
  const all = regions.reduce((sum, region) => sum + (region.measured_seconds || 0), 0),
        part = (value, of) => figure(value && of && value / of, percent);
  const rows = regions.map(region => ({
    region,
    cells: [
      {text: sources[region.file] ? link(region.name, '#code-' + region.name) : region.name, sort: region.name}, region.technique,
      figure(region.estimated_seconds), figure(region.measured_seconds),
      all ? part(region.measured_seconds, all) : part(region.estimated_seconds, whole || expected), part(region.error_share, 1),
      part(region.measured_seconds && region.estimated_seconds, region.measured_seconds)
    ]
  }));
  rows.sort((a, b) => (b.region.measured_seconds || b.region.estimated_seconds || 0) -
          (a.region.measured_seconds || a.region.estimated_seconds || 0));
  // The whole call, so that the table adds up to what is said above it.
  if (whole) {
    const concurrent = regions.some(region => region.section !== undefined), rest = whole - expected;
    rows.push({
      last: true,
      cells: [
        concurrent ? 'launch of the call, less what concurrent branches save' : 'launch of the call', '',
        {text: seconds(rest), sort: rest}
      ]
    },
        {last: true, cells: ['the whole call', '', figure(whole)]});
  }
  return section('Regions',
      note(
          'The estimate is the cost model\'s: memory traffic or arithmetic, whichever takes longer, plus layout changes and launches. A region\'s name leads to its source.'),
      table(
          [
            words('region'), words('technique'), ...['estimate', 'measured', '% of time', '% of error', '% of estimate'].map(number)
          ],
          rows, {most: 12}));
};

// The kernels, each with the regions that it computes and their lines of the model. Closed: a network has dozens.
const kernelsPart = (regions, sources) => {
  const files = new Map();
  for (const region of regions) if (sources[region.file]) files.set(region.file, [...files.get(region.file) || [], region]);
  const linesOf = region => make('ul', {}, (region.lines || []).map(line => make('li', {}, make('code', {}, line))));
  const part = region => make('div', {id: 'code-' + region.name},
      make('h3', {}, region.name), make('p', {}, region.technique), linesOf(region));
  return section('Kernels', [...files].map(([file, own]) => make('details', {class: 'kernel'},
      make('summary', {}, make('code', {}, file), `, ${counted(sources[file].split('\n').length - 1, 'line')}`,
          own.length > 1 && `, for ${counted(own.length, 'region')}`),
      own.map(part), code(sources[file]))));
};

const timePart = ({phases, waiting, details} = {}) => {
  const entries = (part, title) => table([title, number('seconds'), number('times')],
      Object.entries(part || {})
          .map(([name, entry]) =>
                   typeof entry === 'object' ? [name, figure(entry.seconds), figure(entry.times, String)] : [name, figure(entry)])
          .sort((a, b) => (b[1].sort || 0) - (a[1].sort || 0)));
  const phasesTable = entries(phases, 'phase');
  const more = [entries(waiting, 'waiting, within or between the phases'), entries(details, 'parts of the phases')].filter(Boolean);
  return phasesTable ? section('Optimisation time', phasesTable, more.length && fold('Waiting and details', more)) : [];
};

const pytorchPart = (run, timing, pytorch) => {
  const own = run.seconds_a_call || 0,
        row = (name, value, why) => [name, figure(value),
            {text: value && own ? times(value / own) : '', sort: value && own ? value / own : null}, why];
  const rows = (timing.baselines || []).map(side => row(side.side, side.seconds, side.unavailable));
  if (!rows.length)
    for (const [name, value] of Object.entries(pytorch.seconds || {}))
      rows.push(row(name, value,
          name === 'eager' ? 'estimated: a kernel per operator, each dispatched by the host' :
                             'estimated: the same kernels replayed as one CUDA graph'));
  return section('Against PyTorch', table(['baseline', number('per call'), number('speedup'), sentence('note')], rows));
};

// PyTorch and the program, each as long as it takes.
const beforeAndAfter = (run, pytorch) => {
  const all = Object.entries(pytorch.seconds || {})
      .map(([name, value]) => ({name: 'PyTorch, ' + name, value, look: name === pytorch.best ? 'best' : 'other'}));
  if (run.seconds_a_call > 0) all.push({name: 'this program', value: run.seconds_a_call, look: 'own'});
  const longest = Math.max(...all.map(one => one.value));
  const estimated = run.ledger.times === 'measured' ? '' : ', estimated';
  return all.length > 1 && make('div', {class: 'times'},
      all.map(one => make('div', {}, bar(one.name + estimated, one.value / longest, one.look, seconds(one.value)))));
};

// Estimates across the ranges of a program for many sizes, and times at those where it was timed.
const sizesPart = (sizes, timed) => {
  if (!sizes) return [];
  const names = sizes.ranges.map(range => range.name), work = each => names.reduce((product, name) => product * each.sizes[name], 1);
  const estimates = [...sizes.estimates].sort((a, b) => work(a) - work(b));
  const measured = ((timed || {}).times || []).map(({sizes, timing}) => ({
    sizes,
    seconds: timing.program.seconds,
    pytorch_seconds: Math.min(...timing.baselines.map(side => side.seconds).filter(Boolean)),
    floor_seconds: timing.floor_seconds
  }));
  const scatters = names.length > 1;  // the same product is of other sizes, too
  const line = (look, all, key, alone) =>
      ({class: look, scatters: scatters || alone, points: all.filter(each => each[key] > 0).map(each => [work(each), each[key]])});
  const key = (look, text) => make('span', {}, make('i', {class: look}), text);
  const rows = [...estimates.map(each => [each, 'estimated']), ...measured.map(each => [each, 'measured'])].map(([each, how]) => [
    names.map(name => each.sizes[name]).join(' × '), how, figure(each.seconds), figure(each.pytorch_seconds),
    {text: each.pytorch_seconds > 0 ? times(each.pytorch_seconds / each.seconds) : '', sort: each.pytorch_seconds / each.seconds},
    figure(each.floor_seconds / each.seconds, percent)
  ]);
  const borders = (sizes.borders || []).map(([measure, most]) => `${measure} ≤ ${most}`);
  const range = ({name, least, most, multiple}) => `${name} ${least} to ${most}${multiple > 1 ? ` by ${multiple}` : ''}`;
  return section('Sizes',
      note(`One program for ${sizes.ranges.map(range).join(', ')}. `,
          borders.length > 0 && `Techniques change at ${borders.join(', ')}.`),
      estimates.length > 1 && make('figure', {},
          plot([
            line('hacks', estimates, 'floor_seconds'), line('correct', estimates, 'pytorch_seconds'), line('reward', estimates, 'seconds'),
            line('correct measured', measured, 'pytorch_seconds', true), line('reward measured', measured, 'seconds', true)
          ], names.join(' × '), {powers: true, words: seconds}),
          make('figcaption', {}, key('reward', 'this program'), key('correct', 'PyTorch in a CUDA graph'), key('hacks', 'theoretical limit'),
              make('span', {}, measured.length ? 'estimated; large points: measured' : 'estimated'))),
      table([words(names.join(' × ')), 'times are', number('per call'), number('PyTorch'), number('speedup'), number('% of limit')],
          rows, {most: 12}));
};

const reportLegend = measured => section('Legend', make('dl', {class: 'legend'}, [
  ['per call', measured ? 'median wall time of one forward pass on the GPU, L2 flushed before each'
      : 'the cost model\'s estimate: the emulated GPU has no meaningful times'],
  ['best PyTorch', 'the fastest of eager mode, torch.compile, and both replayed in a CUDA graph'],
  ['theoretical limit', 'a time that no program for this graph can beat, from memory bandwidth and peak arithmetic'],
  ['region', 'part of the model\'s graph that is computed by one kernel or library call'],
  ['technique', 'how a region is computed; stitchcuda plan lists the alternatives'],
  ['step', 'one change to the plan: kept only if the whole program got faster and passed its checks'],
  ['numerics class', 'how much rounding error is allowed, as a multiple of PyTorch\'s own against float64'],
  ['gate', 'one check of the Verifier, with its evidence'],
].map(([name, meaning]) => make('div', {}, make('dt', {}, name), make('dd', {}, meaning)))));

views.optimize = run => {
  const {verdict, ledger, regions = [], sources = {}, pytorch = {}} = run, own = run.seconds_a_call || 0, floor = run.floor_seconds || 0;
  const measured = ledger.times === 'measured', timing = verdict.timing || {}, slower = run.slower_because;
  show(baseName(verdict.task).replace(/\.\w+$/, ''), make('p', {class: slower ? 'lead warning' : 'lead'}, run.headline),
      slower && slower.length > 0 && make('ul', {class: 'reasons'}, slower.map(line => make('li', {}, line))),
      beforeAndAfter(run, pytorch), facts([
        [verdict.verdict, run.stopped ? 'interrupted: quick checks only' : 'verdict'],
        [seconds(own), measured ? 'per call, measured' : 'per call, estimated'],
        [seconds(floor), `theoretical limit on ${run.gpu}`], [own && floor ? percent(floor / own) : '', 'of the theoretical limit'],
        [timing.speedup ? times(timing.speedup) : '', `over ${timing.best_baseline}`], [verdict.class, 'numerics class'],
        [seconds(run.seconds || 0), 'optimisation time']
      ]),
      note(run.gates && `Gates: ${run.gates}.`), ledgerPart(ledger), tuningPart(run.tuning), pytorchPart(run, timing, pytorch),
      sizesPart(run.sizes, verdict.sizes), callPart(verdict, run.bottleneck), regionsPart(run, regions, sources), libraryPart(verdict, regions),
      kernelsPart(regions, sources),
      section('Verification', gatesTable(verdict.gates || []), (verdict.notes || []).map(text => note(text))), timePart(run.time),
      reportLegend(measured));
};

// Kernels whose region is not known, as a library's may be.
const libraryPart = (verdict, regions) => {
  const profile = evidenceOf(verdict, 'profile') || {};
  if (profile.region_times) return [];
  const kernels =
      (profile.kernels || []).filter(kernel => kernel.nanoseconds && !regions.some(region => kernel.name.includes(region.name)));
  return section('Library kernels', table([words('kernel'), number('launches'), number('measured')],
      kernels.map(kernel => [kernel.name, figure(kernel.count, String), figure(kernel.nanoseconds, nanoseconds)])));
};

// ---- a recorded run
const attemptPart = (attempt, first) => {
  const changes = attempt.changes || [], count = (sign, lines) => lines.filter(line => line[0] === sign).length;
  const sizes = changes.map(({lines}) => `+${count('+', lines)} −${count('-', lines)}`), all = changes.flatMap(({lines}) => lines);
  const same = Object.keys(attempt.sources).length ? 'same sources' : 'nothing was written';
  const changed = changes.length ? `+${count('+', all)} −${count('-', all)} lines in ${counted(changes.length, 'file')}` : same;
  const gates = ((attempt.verdict || {}).gates || []).filter(gate => gate.outcome !== 'skipped' || gate.summary !== 'not reached');
  return make('details', {class: 'attempt'},
      make('summary', {}, `attempt ${attempt.attempt} · ${attempt.outcome} · at ${seconds(attempt.elapsed_seconds)} · ${changed}`),
      gates.length > 0 && [make('h3', {}, 'Verdict'), gatesTable(gates)], changes.length > 0 && [
        make('h3', {}, first ? 'Sources' : 'Changes to the best program before it'),
        changes.map(
            ({path, lines}, i) => fold([make('code', {}, path), ' ', make('span', {class: 'soft'}, sizes[i])], difference(lines)))
      ]);
};

const stepPart = step => {
  const {before_seconds: before = 0, after_seconds: after = 0, fate, outcome, reason} = step.ledger || {};
  const figures = [after > 0 && `${seconds(after)} a call`, before > 0 && after > 0 && times(before / after)]
                      .filter(Boolean)
                      .map(text => ' · ' + text)
                      .join('');
  return make('li', {class: step.kept ? 'kept' : 'branch'},
      make('p', {class: 'step'}, make('b', {}, step.step), ' ',
          make('span', {class: step.kept ? 'good' : 'warning'}, !step.ledger ? 'killed' : step.kept ? 'kept' : fate || outcome),
          make('span', {class: 'soft'}, figures)),
      make('p', {class: 'soft'}, step.kept || !reason ? step.why : `${step.why}: ${reason}`),
      step.attempts.map(attempt => attemptPart(attempt, step.base === null)));
};

// Markdown as prose and fenced code.
const mostShown = 20000;  // characters of one message
const prose = markdown => {
  const rest = `\n… (${markdown.length} characters in all: stitchcuda runs export has them)`;
  const shown = markdown.length > mostShown ? markdown.slice(0, mostShown) + rest : markdown;
  return shown.split(/^[ \t]*```.*\n?/m)
      .map((part, i) => i % 2 ? code(part.replace(/\n$/, '')) : part.trim() && make('p', {class: 'words'}, part.trim()))
      .filter(Boolean);
};
// Texts of a tool's call (a source that is written) as they are, not as JSON spells them.
const callOf = ({name, arguments: given}) => {
  let parsed = null;
  try { parsed = JSON.parse(given); } catch { /* shown as it is */ }
  const fields = parsed && typeof parsed === 'object' && !Array.isArray(parsed) ? Object.entries(parsed) : [['', given]];
  const text = value => String(typeof value === 'string' ? value : JSON.stringify(value)).slice(0, mostShown);
  return [make('p', {class: 'words'}, 'calls ', make('b', {}, name)),
      fields.map(([key, value]) => [key && make('p', {class: 'words soft'}, key), make('pre', {class: 'code', tabindex: 0}, text(value))])];
};
const exchangePart = (each, i) => {
  const tokens = `${each.estimated ? 'about ' : ''}${each.input_tokens} tokens in, ${each.output_tokens} out`;
  const ended = each.finish && each.finish !== 'stop' ? ` · ended by ${each.finish}` : '';
  const figures = each.error ? `${seconds(each.seconds)} · no answer` : `${tokens} · ${seconds(each.seconds)}${ended}`;
  const look = said => said.role === 'assistant' ? {class: 'said assistant', open: ''} : {class: 'said'};
  const saidPart = said => make('details', look(said),
      make('summary', {}, said.role + (said.failed ? ': the call failed' : '')),
      said.reasoning && fold(make('span', {class: 'soft'}, 'reasoning'), prose(said.reasoning)),
      prose(said.text), (said.calls || []).map(callOf));
  return make('section', {class: 'exchange'},
      make('h3', {}, `${i + 1}. ${each.agent} `, make('span', {class: 'soft'}, `${each.model} · ${figures}`)),
      each.messages.map(saidPart), each.error && make('p', {class: 'words bad'}, each.error));
};

views.run = run => {
  const ledger = {times: run.times, steps: run.steps.map(step => step.ledger).filter(Boolean)};
  show(`${run.task} · run ${run.run}`, facts([
    [run.state, `started ${minute(run.started)} UTC`],
    [run.seconds_a_call ? (run.times === 'measured' ? '' : '~') + seconds(run.seconds_a_call) : '', `per call, ${run.times}`],
    [String(run.attempts), 'attempts'], [String(run.steps_kept), 'steps kept'], [seconds(run.seconds), 'at work'],
    [run.numerics, 'numerics class'], [run.gpu + (run.device === 'emulated' ? ', emulated' : ''), 'GPU'], [run.brains, 'brains']
  ]),
      section('Attempts',
          note('Each step starts from the best program before it. Kept steps are the trunk; the others branch off it.'),
          make('ol', {class: 'tree'}, run.steps.map(stepPart)),
          run.refused_before.map(({step, why}) => note('Not tried again: ', make('b', {}, step), `: ${why}`))),
      ledger.steps.length > 0 && ledgerPart(ledger), run.verdict && callPart(run.verdict, run.bottleneck),
      section('Conversation', run.conversation.length ? run.conversation.map(exchangePart) : note('No LLM took part in this run.')));
};
