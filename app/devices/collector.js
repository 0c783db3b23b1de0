/* Describes the page in view as one JSON text; perception/dom.py reads it.

Run by appium_chromium.py as the body of a function `collect(limits)` in an isolated world of the
top document, so that nothing the page has redefined can disturb or notice it.

  {"v": 1, "url", "title", "w", "h", "dpr",      w, h: innerWidth and innerHeight in CSS px
   "truncated",                                   elements left out because of a limit
   "elements": [element, …],                      document order, shadow roots and same-origin frames walked
   "toasts": [text, …]}                           live-region texts: in view now, or shown since the last look

element
  i          position in this list
  tag        lower-case tag name
  role       button, link, field, checkbox, radio, switch, slider, combobox, option, tab, menuitem, image,
             heading, listitem, cell, header, term, definition, text, dialog, status, canvas, frame,
             progress, group, document, or another ARIA role in lower case
  text       what a person reads: aria-label, labelledby, label, own text, alt, title; for a tick box
             without any of them the words beside it
  value      current value of a field, slider or select (its chosen text); "" for passwords, always
  hint       placeholder; for a select "options: A | B | C"
  id         id, else data-testid, else name
  x y w h    box in CSS px relative to the top window, whole numbers; may lie outside it
  enabled    false also for aria-disabled and inert
  checked    true, false, or null where it cannot be checked
  focused selected password clickable scrollable
  editable   input_text works on it; a select too: the text chooses the option
  visible    in the window, not clipped, not covered by something else
  frame      true inside an iframe

A text is not repeated by the children of the element that carries it.
*/
const W = innerWidth, H = innerHeight;
const TOASTS = Symbol.for('artemis.toasts');
const SKIP = new Set(['SCRIPT', 'STYLE', 'NOSCRIPT', 'TEMPLATE', 'HEAD', 'META', 'LINK', 'BR', 'WBR', 'OPTION',
  'OPTGROUP', 'DATALIST', 'SOURCE', 'TRACK', 'PARAM', 'MAP', 'AREA']);
const LIVE = '[role=status],[role=alert],[aria-live=polite],[aria-live=assertive],output';
const ACTIVE_ROLES = new Set(['button', 'link', 'checkbox', 'radio', 'switch', 'tab', 'menuitem', 'menuitemcheckbox',
  'menuitemradio', 'option', 'slider', 'spinbutton', 'combobox', 'textbox', 'searchbox', 'treeitem']);
const ROLE_WORDS = {textbox: 'field', searchbox: 'field', spinbutton: 'field', menuitemcheckbox: 'menuitem',
  menuitemradio: 'menuitem', img: 'image', alertdialog: 'dialog', alert: 'status', progressbar: 'progress',
  columnheader: 'header', rowheader: 'header', gridcell: 'cell', none: '', presentation: ''};
const TAG_ROLES = {A: 'link', BUTTON: 'button', SELECT: 'combobox', TEXTAREA: 'field', SUMMARY: 'button', IMG: 'image',
  H1: 'heading', H2: 'heading', H3: 'heading', H4: 'heading', H5: 'heading', H6: 'heading', LI: 'listitem', TD: 'cell',
  TH: 'header', DT: 'term', DD: 'definition', DIALOG: 'dialog', CANVAS: 'canvas', IFRAME: 'frame', FRAME: 'frame',
  PROGRESS: 'progress', METER: 'progress', OUTPUT: 'status', HTML: 'document', VIDEO: 'video', AUDIO: 'audio'};
const INPUT_ROLES = {checkbox: 'checkbox', radio: 'radio', range: 'slider', button: 'button', submit: 'button',
  reset: 'button', image: 'button', file: 'button', color: 'button'};
const NO_TYPING = new Set(['checkbox', 'radio', 'button', 'submit', 'reset', 'image', 'file', 'hidden']);

const TICKED = new Set(['checkbox', 'radio', 'switch']);

const clip = (text, size) => {
  const flat = String(text ?? '').replace(/\s+/g, ' ').trim();
  return (flat.length > size ? flat.slice(0, size - 1) + '…' : flat).toWellFormed();
};
const words = (text) => clip(text, limits.text);
const attribute = (e, name) => e.getAttribute(name) || '';

function deepActive() {
  let active = document.activeElement;
  for (let depth = 0; active && depth < 20; depth++) {
    let inner = active.shadowRoot?.activeElement;
    if (!inner && (active.tagName === 'IFRAME' || active.tagName === 'FRAME')) {
      try { inner = active.contentDocument?.activeElement; } catch { inner = null; }
    }
    if (!inner) break;
    active = inner;
  }
  return active;
}

function byIds(e, names) {
  const root = e.getRootNode();
  return names.split(/\s+/).slice(0, 5).map((id) => id && root.getElementById?.(id)?.textContent || '').join(' ');
}

function isPassword(e, style) {
  if (e.tagName !== 'INPUT') return false;
  return e.type === 'password' || /(current|new)-password/.test(e.autocomplete || '')
    || !['', 'none', undefined].includes(style.webkitTextSecurity);
}

function isInline(child, view) {
  return child.tagName === 'BR' || /^(inline|contents|none|ruby)/.test(view.getComputedStyle(child).display);
}

/* The text of an element that holds words itself, together with the inline children around them. */
function ownText(e, view) {
  let own = '';
  for (const node of e.childNodes) if (node.nodeType === 3) own += node.data + ' ';
  if (!own.trim()) return '';
  if (!e.children.length) return words(e.innerText ?? own);
  for (let k = 0; k < e.children.length; k++) if (k > 20 || !isInline(e.children[k], view)) return words(own);
  return words(e.innerText ?? own);
}

/* What a style sheet writes before a cell: tables on narrow screens name their columns like this. */
function styledLabel(e, kind, view) {
  if (kind !== 'cell') return '';
  const before = view.getComputedStyle(e, '::before');
  const quoted = /^"((?:[^"\\]|\\.)*)"$/.exec(before.content);
  if (!quoted || before.display === 'none' || before.visibility !== 'visible') return '';
  const text = quoted[1].replace(/\\(.)/g, '$1').replace(/[:\s]+$/, '').trim();
  return /\p{L}/u.test(text) ? text + ': ' : '';
}

function role(e) {
  const given = attribute(e, 'role').trim().split(/\s+/)[0].toLowerCase();
  if (given && given in ROLE_WORDS) { if (ROLE_WORDS[given]) return ROLE_WORDS[given]; } else if (given) return clip(given, 30);
  if (e.tagName === 'INPUT') return INPUT_ROLES[e.type] || 'field';
  if (e.isContentEditable) return 'field';
  if (e.tagName === 'A' && !e.hasAttribute('href')) return 'text';
  return TAG_ROLES[e.tagName] || '';
}

function name(e, kind) {
  const aria = attribute(e, 'aria-label').trim();
  if (aria) return words(aria);
  const by = attribute(e, 'aria-labelledby').trim();
  if (by) { const text = words(byIds(e, by)); if (text) return text; }
  if (e.labels?.length) {
    const text = words([...e.labels].slice(0, 3).map(labelText).join(' '));
    if (text) return text;
  }
  if (e.tagName === 'INPUT') {
    if (['button', 'submit', 'reset'].includes(e.type)) return words(e.value || (e.type === 'submit' ? 'Submit' : e.type === 'reset' ? 'Reset' : ''));
    return words(e.alt || e.title);
  }
  if (kind === 'field' || e.tagName === 'SELECT') return words(e.title);
  if (e.tagName === 'IMG') return words(e.alt || e.title);
  if (e.tagName === 'IFRAME') return words(e.title || attribute(e, 'name'));
  return '';
}

/* A label's words without the value or options of the field inside it. */
function labelText(label) {
  if (!label.querySelector('select,textarea,input')) return label.innerText ?? label.textContent;
  let text = '';
  const walk = label.ownerDocument.createTreeWalker(label, 4);
  for (let n = walk.nextNode(), k = 0; n && k < 50; n = walk.nextNode(), k++) {
    if (!n.parentElement.closest('select,textarea,script,style')) text += n.data + ' ';
  }
  return text;
}

function innerName(e) {
  const text = words(e.innerText);
  if (text) return text;
  const picture = e.querySelector('img[alt]:not([alt=""]),[aria-label],svg title');
  if (picture) return words(attribute(picture, 'alt') || attribute(picture, 'aria-label') || picture.textContent);
  return words(e.title || '');
}

/* The words a nameless tick box stands beside. */
function besides(e) {
  const text = (e.parentElement?.innerText ?? '').trim();
  return text.length <= 80 && !text.includes('\n') ? words(text) : '';
}

function checkedState(e) {
  if (e.tagName === 'INPUT' && (e.type === 'checkbox' || e.type === 'radio')) return e.checked;
  const said = attribute(e, 'aria-checked') || attribute(e, 'aria-pressed');
  return said === 'true' ? true : said === 'false' ? false : null;
}

function valueOf(e, kind, password) {
  if (password) return '';
  if (e.tagName === 'SELECT') return words([...e.selectedOptions].slice(0, 5).map((o) => o.label || o.text).join(', '));
  if (e.tagName === 'TEXTAREA') return words(e.value);
  if (e.tagName === 'INPUT') {
    if (e.type === 'file') return words([...(e.files || [])].map((f) => f.name).join(', '));
    return kind === 'button' && e.type !== 'color' || kind === 'checkbox' || kind === 'radio' || kind === 'switch' ? '' : words(e.value);
  }
  if (e.isContentEditable) return words(e.innerText);
  if (e.tagName === 'PROGRESS' || e.tagName === 'METER') return String(e.value);
  return words(attribute(e, 'aria-valuetext') || attribute(e, 'aria-valuenow'));
}

function hintOf(e) {
  if (e.tagName === 'SELECT') {
    const options = [...e.options].slice(0, 60).filter((o) => !o.disabled).map((o) => clip(o.label || o.text, 60));
    return clip('options: ' + options.join(' | '), 3 * limits.text);
  }
  return words(e.placeholder || attribute(e, 'aria-placeholder') || attribute(e, 'data-placeholder'));
}

function canScroll(e, style) {
  if (e === e.ownerDocument.scrollingElement || e.tagName === 'HTML') {
    return e.scrollHeight > e.clientHeight + 4 || e.scrollWidth > e.clientWidth + 4;
  }
  return /(auto|scroll|overlay)/.test(style.overflowY) && e.scrollHeight > e.clientHeight + 4
    || /(auto|scroll|overlay)/.test(style.overflowX) && e.scrollWidth > e.clientWidth + 4;
}

function meet(a, b) {
  return {left: Math.max(a.left, b.left), top: Math.max(a.top, b.top),
    right: Math.min(a.right, b.right), bottom: Math.min(a.bottom, b.bottom)};
}

/* Whether a finger at the middle of the visible part would reach the element. */
function reachable(e, box, place, style) {
  const part = meet(box, place.window);
  if (part.right - part.left < 1 || part.bottom - part.top < 1) return false;
  if (style.visibility !== 'visible') return false;
  if (style.pointerEvents === 'none') return true;
  const x = (part.left + part.right) / 2, y = (part.top + part.bottom) / 2;
  for (const outer of place.frames) {
    const hit = outer.root.elementFromPoint(x - outer.dx, y - outer.dy);
    if (hit !== outer.frame && !(hit?.shadowRoot)) return false;
  }
  const root = e.getRootNode();
  const hit = (root.elementFromPoint ? root : e.ownerDocument).elementFromPoint(x - place.dx, y - place.dy);
  if (!hit) return false;
  return hit === e || e.contains(hit) || hit.contains(e) || hit.control === e
    || hit.tagName === 'LABEL' && hit.contains(e) || !!hit.shadowRoot?.contains(e) || e.contains(hit.getRootNode().host ?? null);
}

const out = [];
const toasts = [];
let walked = 0, dropped = 0;

function drain(view) {
  try {
    const seen = view[TOASTS];
    if (seen) toasts.push(...seen.splice(0));
  } catch { /* another origin */ }
}

function push(e, kind, text, box, place, style, more) {
  const shown = out.length < 2 * limits.elements && reachable(e, box, place, style);
  out.push({node: e, i: 0, tag: clip(e.tagName.toLowerCase(), 30), role: kind, text,
    value: '', hint: '', id: clip(e.id || attribute(e, 'data-testid') || attribute(e, 'name'), 80),
    x: Math.round(box.left), y: Math.round(box.top), w: Math.round(box.right - box.left), h: Math.round(box.bottom - box.top),
    enabled: true, checked: null, focused: e === active, selected: false, password: false, clickable: false,
    editable: false, scrollable: false, visible: shown, frame: place.frames.length > 0, ...more});
}

const active = deepActive();
const screen = {left: 0, top: 0, right: W, bottom: H};
const stack = [{node: document.documentElement, owner: '', pointer: false,
  place: {dx: 0, dy: 0, window: screen, frames: [], view: window}}];
drain(window);

function enter(children, entry) {
  for (let k = children.length - 1; k >= 0; k--) stack.push({...entry, node: children[k]});
}

function enterFrame(frame, box, place) {
  let inner = null;
  try { inner = frame.contentDocument; } catch { inner = null; }
  if (!inner?.documentElement || place.frames.length > 5) return;
  const dx = box.left + frame.clientLeft, dy = box.top + frame.clientTop;
  const window_ = meet(place.window, {left: dx, top: dy, right: dx + frame.clientWidth, bottom: dy + frame.clientHeight});
  drain(frame.contentWindow);
  stack.push({node: inner.documentElement, owner: '', pointer: false, place: {dx, dy, window: window_, view: frame.contentWindow,
    frames: [...place.frames, {frame, root: frame.getRootNode(), dx: place.dx, dy: place.dy}]}});
}

while (stack.length) {
  const {node: e, owner, pointer, place} = stack.pop();
  if (e.nodeType !== 1 || SKIP.has(e.tagName) || e.tagName === 'INPUT' && e.type === 'hidden') continue;
  if (++walked > limits.nodes) { dropped++; continue; }
  const style = place.view.getComputedStyle(e);
  if (style.display === 'none' || style.contentVisibility === 'hidden') continue;
  const isInput = e.tagName === 'INPUT';
  if (style.opacity === '0' && !isInput) continue;
  const rect = e.getBoundingClientRect();
  const box = {left: rect.left + place.dx, top: rect.top + place.dy, right: rect.right + place.dx, bottom: rect.bottom + place.dy};
  const drawn = rect.width >= 1 && rect.height >= 1 && style.visibility === 'visible';
  const isRoot = e.tagName === 'HTML' || e.tagName === 'BODY';
  const points = style.cursor === 'pointer' && !isRoot;
  const kind = role(e);
  const typing = isInput && !NO_TYPING.has(e.type) || e.tagName === 'TEXTAREA' || e.tagName === 'SELECT'
    || e.isContentEditable && !e.parentElement?.isContentEditable;
  const hiddenControl = isInput && (style.opacity === '0' || rect.width < 4 || rect.height < 4);
  const control = e.tagName === 'LABEL' ? e.control : null;
  let standIn = null;  // the label shown in place of a control that is not drawn
  if (control) {
    const r = control.getBoundingClientRect();
    const s = place.view.getComputedStyle(control);
    if (r.width < 4 || r.height < 4 || s.opacity === '0' || s.display === 'none' || s.visibility !== 'visible') standIn = control;
  }
  const semantic = isInput || ['BUTTON', 'SELECT', 'TEXTAREA', 'SUMMARY'].includes(e.tagName) || e.tagName === 'A' && e.hasAttribute('href')
    || ACTIVE_ROLES.has(attribute(e, 'role')) || typing || standIn !== null;
  const clickable = semantic || !isRoot && e.tagName !== 'LABEL'
    && (e.hasAttribute('onclick') || points && !pointer || e.hasAttribute('tabindex') && e.tabIndex >= 0);
  const scrolls = canScroll(e, style) && e.tagName !== 'BODY' && e.tagName !== 'SELECT' && e.tagName !== 'TEXTAREA';
  let inherits = owner;
  if (drawn && !(hiddenControl && e.labels?.length)) {
    const source = standIn || e;
    const enabled = !(source.matches(':disabled') || attribute(source, 'aria-disabled') === 'true' || e.closest('[inert]'));
    if (clickable) {
      const password = isPassword(source, style);
      const given = name(e, kind) || (TICKED.has(kind) ? besides(e) : '');
      const text = given || (typing || isInput ? '' : innerName(e));
      push(e, standIn ? role(standIn) : kind === 'text' && e.tagName === 'A' ? 'link' : kind || 'button', text, box, place, style, {
        value: valueOf(source, standIn ? role(standIn) : kind, password), hint: hintOf(e), enabled, checked: checkedState(source),
        selected: attribute(e, 'aria-selected') === 'true' || !['', 'false'].includes(attribute(e, 'aria-current')),
        password, clickable: true, editable: typing && enabled && !e.readOnly, scrollable: scrolls});
      inherits = given && !typing ? given + ' ' + words(e.innerText) : typing ? '' : text;
      if (e.tagName === 'SELECT' || isInput || e.tagName === 'TEXTAREA') continue;
      if (e.isContentEditable) inherits = words(e.innerText);
    } else if (control && !standIn) {
      inherits = words(labelText(e)) || owner;
    } else if (e.tagName === 'IFRAME' || e.tagName === 'FRAME') {
      push(e, 'frame', name(e, kind), box, place, style, {scrollable: scrolls});
    } else {
      const image = kind === 'image' || e.tagName === 'svg' || e.tagName === 'SVG';
      const own = image ? name(e, kind) || words(e.querySelector?.('title')?.textContent) : ownText(e, place.view);
      const label = own && !image ? styledLabel(e, kind, place.view) : '';
      const named = !image && ['dialog', 'canvas', 'group', 'region', 'progress', 'video', 'audio'].includes(kind) ? name(e, kind) : '';
      const text = named || label && words(label + own) || own;
      const always = scrolls || ['canvas', 'dialog', 'progress', 'video'].includes(kind);
      if (always || text && !owner.includes(text)) {
        push(e, kind || (text ? 'text' : 'group'), text, box, place, style, {enabled, scrollable: scrolls,
          checked: checkedState(e), selected: attribute(e, 'aria-selected') === 'true' || !['', 'false'].includes(attribute(e, 'aria-current')),
          value: valueOf(e, kind, false)});
        if (own) inherits = owner + ' ' + own;
      }
      if (image) continue;
    }
  }
  const below = {owner: inherits, pointer: pointer || points, place};
  if (e.tagName === 'IFRAME' || e.tagName === 'FRAME') { if (drawn) enterFrame(e, box, place); continue; }
  if (e.tagName === 'DETAILS' && !e.open) { enter([...e.children].filter((c) => c.tagName === 'SUMMARY').slice(0, 1), below); continue; }
  if (e.shadowRoot) { enter(e.shadowRoot.children, below); continue; }
  if (e.tagName === 'SLOT') {
    const given = e.assignedElements();
    enter(given.length ? given : e.children, below);
    if (!given.length && drawn === false && e.assignedNodes().length) { /* bare text in a slot is listed by its host */ }
    continue;
  }
  enter(e.children, below);
}

/* What is in view comes first, then what is nearest to it; the order stays the document's. */
const distance = (o) => o.visible ? -1 : Math.max(0, -(o.y + o.h), o.y - H) + Math.max(0, -(o.x + o.w), o.x - W);
const nearest = out.map((o, k) => [distance(o), k]).sort((a, b) => a[0] - b[0] || a[1] - b[1]);
let room = limits.chars;
const kept = new Set();
for (const [, k] of nearest) {
  const o = out[k];
  room -= 180 + o.text.length + o.value.length + o.hint.length;
  if (kept.size >= limits.elements || room < 0) break;
  kept.add(k);
}
dropped += out.length - kept.size;
const elements = out.filter((_, k) => kept.has(k));
elements.forEach((o, k) => { o.i = k; delete o.node; });

for (const e of [...document.querySelectorAll(LIVE)].slice(0, 20)) {
  const text = words(e.innerText);
  if (text && e.checkVisibility({opacityProperty: true, visibilityProperty: true})) toasts.push(text);
}
return JSON.stringify({v: 1, url: location.href, title: clip(document.title, 300), w: W, h: H, dpr: devicePixelRatio,
  truncated: dropped, elements, toasts: [...new Set(toasts.map(words))].slice(0, 20)});
