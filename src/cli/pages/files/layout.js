// A layered drawing: boxes in rows in the order in which they can run, arrows downwards. Rows by longest path, their order by
// barycentres, positions by least squares that keep the order. A drawing much taller than wide is cut into columns, read
// like a newspaper.
//   items: {width, height, group, anchored}; boxes of a group get a frame; an anchored one stands at the top with what
//     follows from it, others wait for what needs them
//   arrows: [from, to], from an earlier item to a later one
// Sets x and y of each item; returns {width, height, lines: [{from, to, far, path}], frames: [{group, x, y, width, height}]}.
const layOut = (items, arrows, leastFramed = 3) => {
  if (!items.length) return {width: 0, height: 0, lines: [], frames: []};
  const rowGap = 38, columnGap = 64, boxGap = 26, groupGap = 18, framePadding = 10, frameTitle = 20;
  const laneGap = 7;         // between arrows that go from one column to the next
  const longestRouted = 40;  // rows; a longer arrow is drawn across, and only on demand
  const orderSweeps = 16, positionSweeps = 7;  // the latter end downwards
  const wantedRatio = 1.6, lowestColumn = 900;
  const sum = (list, of) => list.reduce((all, one) => all + of(one), 0);

  // ---- which row each item stands in. A slot is a place in a row: an item's, or where a long arrow passes.
  const slots = items.map((item, i) => ({item, source: i, row: 0, width: item.width, up: [], down: []}));
  const fixed = items.map(item => !!item.anchored), hasSource = items.map(() => false);
  for (const [from, to] of [...arrows].sort((a, b) => a[1] - b[1] || a[0] - b[0])) {
    slots[to].row = Math.max(slots[to].row, slots[from].row + 1);
    fixed[to] = fixed[to] || fixed[from];
    hasSource[to] = true;
  }
  // What doesn't follow from an anchor stands right before its first use.
  const users = items.map(() => []);
  for (const [from, to] of arrows) users[from].push(slots[to]);
  for (let from = items.length; from-- > 0;)
    if (users[from].length && (!fixed[from] || !hasSource[from]))
      slots[from].row = Math.max(slots[from].row, Math.min(...users[from].map(slot => slot.row)) - 1);

  // ---- where arrows pass: all arrows out of one box share their places
  let rows = Array.from({length: Math.max(...slots.map(slot => slot.row)) + 1}, () => []);
  for (const slot of slots) rows[slot.row].push(slot);
  const passing = new Map();
  const routes = arrows.map(([from, to]) => {
    const begin = slots[from], end = slots[to];
    if (end.row - begin.row > longestRouted) return null;
    const route = [begin];
    for (let r = begin.row + 1; r < end.row; ++r) {
      const key = `${from} ${r}`;
      if (!passing.has(key)) {
        passing.set(key, {source: from, row: r, width: 10, up: [], down: []});
        rows[r].push(passing.get(key));
      }
      route.push(passing.get(key));
    }
    route.push(end);
    for (let i = 0; i + 1 < route.length; ++i)
      if (!route[i].down.includes(route[i + 1])) {
        route[i].down.push(route[i + 1]);
        route[i + 1].up.push(route[i]);
      }
    return route;
  });

  // ---- the order within rows, with the fewest crossings of a few sweeps
  const number = row => row.forEach((slot, i) => { slot.position = i; });
  const crossings = () => sum(rows, row => {
    const pairs = row.flatMap(slot => slot.down.map(below => [slot.position, below.position]));
    if (pairs.length > 400) return 0;  // so wide a row is a mesh anyhow
    return sum(pairs, a => pairs.filter(b => a[0] < b[0] && a[1] > b[1]).length);
  });
  rows.forEach(number);
  let best = rows.map(row => [...row]), fewest = crossings();
  for (let sweep = 0; sweep < orderSweeps && fewest > 0; ++sweep) {
    const downwards = sweep % 2 === 0;
    for (const row of downwards ? rows : [...rows].reverse()) {
      for (const slot of row) {
        const neighbours = downwards ? slot.up : slot.down;
        slot.key = neighbours.length ? sum(neighbours, one => one.position) / neighbours.length : slot.position;
      }
      row.sort((a, b) => a.key - b.key);
      number(row);
    }
    const count = crossings();
    if (count < fewest) [fewest, best] = [count, rows.map(row => [...row])];
  }
  rows = best;
  rows.forEach(number);

  // ---- columns: cut where it is cheap, near where they come out equally tall
  const rowHeight = row => Math.max(0, ...row.filter(slot => slot.item).map(slot => slot.item.height));
  // Values that must go round the corner, and a frame in two pieces.
  const cutPrice = r => {
    const above = new Set(rows[r].filter(slot => slot.item && slot.item.group).map(slot => slot.item.group));
    return rows[r].filter(slot => slot.down.length).length + (rows[r + 1].some(slot => slot.item && above.has(slot.item.group)) ? 2 : 0);
  };
  const tops = [0];
  for (const row of rows) tops.push(tops[tops.length - 1] + rowHeight(row) + rowGap);
  const height = tops[rows.length], widest = Math.max(...rows.map(row => sum(row, slot => slot.width + boxGap)));
  const wanted = Math.min(Math.max(1, Math.round(Math.sqrt(wantedRatio * height / (widest + columnGap)))),
      Math.max(1, Math.floor(height / lowestColumn)));
  const columns = [];
  let first = 0;
  for (let left = wanted; left > 1; --left) {
    const room = (height - tops[first]) / left, slack = room / 4;
    let cut = -1, least = Infinity;
    for (let r = first; r + 1 < rows.length; ++r) {
      const distance = Math.abs(tops[r + 1] - tops[first] - room);
      if (distance > slack) continue;
      const price = cutPrice(r) + 2 * distance / slack;
      if (price < least) [cut, least] = [r, price];
    }
    if (cut < 0) continue;
    columns.push({first, last: cut});
    first = cut + 1;
  }
  columns.push({first, last: rows.length - 1});
  columns.forEach(column => { column.rows = rows.slice(column.first, column.last + 1); });

  // ---- positions within a row
  const group = slot => items[slot.source].group || '';
  const roomBetween = (a, b) => (a.width + b.width) / 2 +
      (a.item && b.item ? boxGap + (group(a) !== group(b) ? groupGap : 0) : boxGap / 2);
  // Each slot as near as can be to where it would like to be, order and distances kept: isotonic regression, by pooling
  // neighbours that got in each other's way.
  const settle = (row, wishes) => {
    const pools = [], offsets = [];
    row.forEach((slot, i) => {
      offsets.push(i ? offsets[i - 1] + roomBetween(row[i - 1], slot) : 0);
      const weight = slot.item ? 1e6 : 1;  // arrows go round boxes, not the other way
      pools.push({sum: (wishes[i] - offsets[i]) * weight, weight, count: 1});
      while (pools.length > 1) {
        const right = pools[pools.length - 1], left = pools[pools.length - 2];
        if (left.sum / left.weight <= right.sum / right.weight) break;
        pools.splice(-2, 2, {sum: left.sum + right.sum, weight: left.weight + right.weight, count: left.count + right.count});
      }
    });
    let i = 0;
    for (const pool of pools)
      for (let k = 0; k < pool.count; ++k, ++i) row[i].x = pool.sum / pool.weight + offsets[i];
  };
  // Under its sources, or above its users. A box with one box before it follows that one, whatever else passes: or every
  // residual would push the rest of the model aside.
  const wish = (slot, column, downwards) => {
    const mean = neighbours => {
      const near = neighbours.filter(one => one.row >= column.first && one.row <= column.last), boxes = near.filter(one => one.item);
      if (boxes.length === 1 && slot.item) return boxes[0].x;
      return near.length ? sum(near, one => one.x) / near.length : undefined;
    };
    const [before, behind] = downwards ? [slot.up, slot.down] : [slot.down, slot.up];
    return mean(before) ?? mean(behind) ?? slot.x;
  };
  // An arrow that passes several rows does so in one straight line, where the boxes leave room for one.
  const straighten = column => {
    const chains = new Map();
    for (const slot of column.rows.flat())
      if (!slot.item) chains.set(slot.source, [...chains.get(slot.source) || [], slot]);
    for (let round = 0; round < 2; ++round)
      for (const [, chain] of [...chains].sort((a, b) => a[0] - b[0])) {
        let low = -Infinity, high = Infinity;
        for (const slot of chain) {
          const row = rows[slot.row], left = row[slot.position - 1], right = row[slot.position + 1];
          if (left) low = Math.max(low, left.x + roomBetween(left, slot));
          if (right) high = Math.min(high, right.x - roomBetween(slot, right));
        }
        if (low > high) continue;
        const x = Math.min(Math.max(sum(chain, slot => slot.x) / chain.length, low), high);
        for (const slot of chain) slot.x = x;
      }
  };
  for (const column of columns) {
    for (const row of column.rows) {
      let x = 0;
      row.forEach((slot, i) => { slot.x = x += i ? roomBetween(row[i - 1], slot) : 0; });
      for (const slot of row) slot.x -= x / 2;
    }
    for (let sweep = 0; sweep < positionSweeps; ++sweep) {
      const downwards = sweep % 2 === 0;
      for (const row of downwards ? column.rows : [...column.rows].reverse()) settle(row, row.map(slot => wish(slot, column, downwards)));
    }
    straighten(column);
  }

  // ---- the picture: arrows between two columns each get a lane of their own around the corner, the rightmost turns first
  columns.forEach((column, c) => {
    column.lanes = new Map();
    for (const row of column.rows) for (const slot of row) slot.column = column;
    if (c + 1 < columns.length)
      for (const slot of [...rows[column.last]].reverse())
        for (const below of slot.down)
          column.lanes.set(slot, (column.lanes.get(slot) || new Map()).set(below, column.turns = (column.turns || 0) + 1));
  });
  const lanes = column => laneGap * (column.turns || 0);
  const top = frameTitle + 16 + Math.max(...columns.map(lanes));
  let left = framePadding, lowest = 0;
  for (const column of columns) {
    let y = top;
    const all = column.rows.flat(), low = Math.min(...all.map(slot => slot.x - slot.width / 2)),
          high = Math.max(...all.map(slot => slot.x + slot.width / 2));
    for (const row of column.rows) {
      const tall = rowHeight(row);
      for (const slot of row) {
        slot.x += left - low;
        const own = slot.item ? slot.item.height : tall;
        slot.top = slot.item ? y + (tall - own) / 2 : y;
        slot.bottom = slot.top + own;
      }
      y += tall + rowGap;
    }
    column.right = left + high - low;
    column.bottom = y - rowGap;
    lowest = Math.max(lowest, column.bottom + lanes(column) + 24);
    left = column.right + columnGap + lanes(column);
  }
  items.forEach((item, i) => { item.x = slots[i].x - item.width / 2; item.y = slots[i].top; });

  const svg = (letter, ...numbers) => letter + numbers.map(value => value.toFixed(1)).join(' ');
  // Down to the lane, right into the gutter, up along it, right, and down into the next column.
  const aroundTheCorner = (from, to) => {
    const r = 8, lane = laneGap * (from.column.lanes.get(from).get(to) - 1);
    const turn = from.column.bottom + framePadding + 8 + lane, over = from.column.right + columnGap / 2 + lane,
          enter = top - frameTitle - 8 - lane;
    const side = to.x >= over ? r : -r;
    return svg('L', from.x, Math.max(turn - r, from.bottom)) + svg('Q', from.x, turn, from.x + r, turn) + svg('L', over - r, turn) +
        svg('Q', over, turn, over, turn - r) + svg('L', over, enter + r) + svg('Q', over, enter, over + side, enter) +
        svg('L', to.x - side, enter) + svg('Q', to.x, enter, to.x, enter + r) + svg('L', to.x, to.top);
  };
  const lines = arrows.map(([from, to], a) => {
    const far = !routes[a], route = routes[a] || [slots[from], slots[to]];
    let path = svg('M', route[0].x, route[0].bottom);
    for (let i = 0; i + 1 < route.length; ++i) {
      const above = route[i], below = route[i + 1];
      // Across far rows the curve bends where it starts and ends, between rows in the middle.
      const bend = far ? Math.min(Math.abs(below.top - above.bottom) / 3 + 60, 400) : (below.top - above.bottom) / 2;
      path += !far && above.column !== below.column ? aroundTheCorner(above, below)
          : Math.abs(above.x - below.x) < 0.5 ? svg('L', below.x, below.top)
          : svg('C', above.x, above.bottom + bend, below.x, below.top - bend, below.x, below.top);
      if (i + 2 < route.length) path += svg('L', below.x, below.bottom);
    }
    return {from, to, far, path};
  });

  // ---- frames around the boxes of a group in one column. Where boxes of others stand between them there are several, so
  // that none is around a box that isn't of the group.
  const frames = [], sizes = new Map(), groups = new Map();
  items.forEach((item, i) => {
    if (!item.group) return;
    const key = `${columns.indexOf(slots[i].column)} ${item.group}`;
    groups.set(key, [...groups.get(key) || [], item]);
    sizes.set(item.group, (sizes.get(item.group) || 0) + 1);
  });
  const around = item => ({
    x: item.x - framePadding,
    y: item.y - frameTitle,
    width: item.width + 2 * framePadding,
    height: item.height + frameTitle + framePadding
  });
  const both = (a, b) => {
    const x = Math.min(a.x, b.x), y = Math.min(a.y, b.y);
    return {x, y, width: Math.max(a.x + a.width, b.x + b.width) - x, height: Math.max(a.y + a.height, b.y + b.height) - y};
  };
  const meets = (a, b) => a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height;
  for (const members of groups.values()) {
    const name = members[0].group, own = [];
    if (sizes.get(name) < leastFramed) continue;
    const others = items.filter(item => item.group !== name);
    for (const item of [...members].sort((a, b) => a.y - b.y)) {
      const at = own.findIndex(frame => !others.some(other => meets(other, both(frame, around(item)))));
      if (at < 0) own.push(around(item));
      else own[at] = both(own[at], around(item));
    }
    frames.push(...own.map(frame => ({group: name, ...frame})));
  }
  return {width: columns[columns.length - 1].right + framePadding, height: lowest + framePadding, lines, frames};
};
