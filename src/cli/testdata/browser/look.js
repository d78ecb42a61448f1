// Put into a page by look.py: what a reader would find wrong with it, as strings.
// In #surface, which can be panned and zoomed, text may leave the view; everywhere else it has to be seen whole.
var short = text => JSON.stringify(text.trim().replace(/\s+/g, ' ').slice(0, 40));
window.look = () => {
  const findings = new Set();
  const surface = document.getElementById('surface');

  // checkVisibility() takes SVG text below a group that is not displayed for visible.
  const known = new Map();
  const hidden = element => {
    if (!element) return false;
    if (!known.has(element)) {
      const style = getComputedStyle(element);
      known.set(element, style.display === 'none' || style.visibility === 'hidden' || hidden(element.parentElement));
    }
    return known.get(element);
  };

  // Every visible line of text with its rectangle, cut down to where its glyphs are.
  const lines = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node; (node = walker.nextNode());) {
    const parent = node.parentElement, style = getComputedStyle(parent);
    if (!node.data.trim() || parent.closest('script, style, title') || hidden(parent)) continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    for (const rect of range.getClientRects())
      if (rect.width > 0 && rect.height > 0)
        lines.push({node, parent, style, text: node.data, left: rect.left + 0.5, right: rect.right - 0.5,
                    top: rect.top + rect.height * 0.22, bottom: rect.bottom - rect.height * 0.22});
  }

  // Panels that lie over the surface hide what is below them, which is no overprinting.
  const panels = surface ? [...surface.parentElement.children].filter(one => one !== surface) : [];
  const meets = (a, b) => a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
  const visible = lines.filter(line => {
    const inSurface = surface && surface.contains(line.parent);
    if (inSurface && panels.some(panel => meets(line, panel.getBoundingClientRect()))) return false;
    for (let box = line.parent; box; box = box.parentElement) {
      const style = getComputedStyle(box);
      if (style.position === 'fixed') break;
      if (style.overflowX === 'visible' && style.overflowY === 'visible') continue;
      if (box.namespaceURI.endsWith('svg')) continue;
      const room = box.getBoundingClientRect(), scrolls = /auto|scroll/.test(style.overflowY);
      if (box === surface) {  // what lies outside is not printed
        line.left = Math.max(line.left, room.left), line.right = Math.min(line.right, room.right);
        line.top = Math.max(line.top, room.top), line.bottom = Math.min(line.bottom, room.bottom);
        return line.left < line.right && line.top < line.bottom;
      }
      if (line.right > room.right + 1 || line.left < room.left - 1) findings.add(`cut off: ${short(line.text)}`);
      if (scrolls) {
        if (!meets(line, room)) return false;
      } else if (line.bottom > room.bottom + 1 || line.top < room.top - 1) findings.add(`cut off: ${short(line.text)}`);
    }
    if (line.right > innerWidth + 1 || line.left < -1) findings.add(`outside the window: ${short(line.text)}`);
    return true;
  });
  visible.sort((a, b) => a.top - b.top);
  for (let i = 0; i < visible.length; ++i)
    for (let j = i + 1; j < visible.length && visible[j].top < visible[i].bottom; ++j)
      if (visible[i].node !== visible[j].node && meets(visible[i], visible[j]))
        findings.add(`overlap: ${short(visible[i].text)} and ${short(visible[j].text)}`);

  for (const text of document.querySelectorAll('.box text')) {
    const inner = text.getBoundingClientRect(), outer = text.parentElement.querySelector('rect').getBoundingClientRect();
    if (inner.width > 0 && (inner.left < outer.left - 1 || inner.right > outer.right + 1))
      findings.add(`outside its box: ${short(text.textContent)}`);
  }
  if (document.documentElement.scrollWidth > innerWidth + 1) findings.add('the page has to be scrolled sideways');
  for (const box of document.querySelectorAll('*'))
    if (box.scrollWidth > box.clientWidth + 1 && /auto|scroll/.test(getComputedStyle(box).overflowX))
      findings.add(`has to be scrolled sideways: ${box.tagName} ${box.className} with ${short(box.textContent)}`);

  window.seen = visible;
  return [...findings, ...lookAtContrast()];
};

// Contrast as WCAG has it: 4.5 for text. Of what look() saw, in the colours of now.
window.lookAtContrast = () => {
  const findings = new Set();
  const colour = text => {
    const numbers = (text.match(/-?[\d.]+(e-?\d+)?/g) || []).map(Number);
    const scale = text.startsWith('color(') ? 255 : 1;
    return {rgb: numbers.slice(0, 3).map(value => value * scale), alpha: numbers.length > 3 ? numbers[3] : 1};
  };
  const over = (top, below) => top.rgb.map((value, i) => value * top.alpha + below[i] * (1 - top.alpha));
  const ground = element => {
    if (!element) return [255, 255, 255];
    const own = colour(getComputedStyle(element).backgroundColor);
    return own.alpha === 1 ? own.rgb : over(own, ground(element.parentElement));
  };
  const luminance = rgb => rgb.map(value => value / 255).map(value => value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4)
      .reduce((sum, value, i) => sum + value * [0.2126, 0.7152, 0.0722][i], 0);
  for (const line of window.seen) {
    const inBox = line.parent.closest('.box');
    if (line.parent.namespaceURI.endsWith('svg') && !inBox) continue;
    const below = inBox ? colour(getComputedStyle(inBox.querySelector('rect')).fill).rgb : ground(line.parent);
    const own = colour(inBox ? line.style.fill : line.style.color);
    const [dark, light] = [luminance(over(own, below)), luminance(below)].sort((a, b) => a - b);
    const contrast = (light + 0.05) / (dark + 0.05);
    if (contrast < 4.5) findings.add(`contrast ${contrast.toFixed(1)}: ${short(line.text)}`);
    if (!inBox && parseFloat(line.style.fontSize) < 10.5) findings.add(`too small: ${short(line.text)}`);
  }
  return [...findings];
};

// What reacts to a click has to be reached by the keyboard, and to show that it was.
var looks = element => [element, element.firstElementChild].filter(Boolean).map(one => {
  const style = getComputedStyle(one);
  return [style.outline, style.boxShadow, style.borderColor, style.backgroundColor, style.stroke, style.strokeWidth].join('|');
}).join('|');
window.startWalk = () => {
  document.activeElement.blur();
  window.unfocused = new Map([...document.querySelectorAll('*')].filter(one => one.tabIndex >= 0 || one.hasAttribute('tabindex'))
      .map(one => [one, looks(one)]));
  window.reached = new Set();
  window.walkFindings = new Set();
};
// Whether the walk goes on: false when it is back at the document or at what it has seen.
window.atStop = () => {
  const one = document.activeElement;
  if (one === document.body || window.reached.has(one)) return '';
  window.reached.add(one);
  if (looks(one) === window.unfocused.get(one)) window.walkFindings.add(`focus can't be seen: ${one.outerHTML.slice(0, 80)}`);
  return one.closest('.box') ? 'box' : 'other';
};
window.endWalk = () => {
  const pointer = one => getComputedStyle(one).cursor === 'pointer';
  for (const one of document.querySelectorAll('a, button, input, select, textarea, summary, [onclick], [tabindex], *')) {
    const native = one.matches('a, button, input, select, textarea, summary, [onclick], [tabindex]');
    if (!native && !(pointer(one) && one.parentElement && !pointer(one.parentElement))) continue;
    if (one.getClientRects().length === 0 || one.closest('[hidden]')) continue;
    if (![...window.reached].some(stop => stop === one || one.contains(stop)))
      window.walkFindings.add(`no key reaches: ${one.outerHTML.slice(0, 80)}`);
  }
  return [...window.walkFindings];
};
