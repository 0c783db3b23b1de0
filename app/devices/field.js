/* What is needed to type into a web page; appium_typing.py runs these parts in the page.

at(x, y)         looks under a point, through shadow roots and same-origin frames; gives the focus to
                 a select, a date field or a file field, where a tap would open a picker that no
                 screenshot shows. Returns "given" or "tap".
active()         the focused element of this document, through shadow roots; null for none
describe(e)      what kind of field it is
select(e)        selects all its text
choose(e, text)  chooses a select's option by its text
set(e, text)     sets the value of a field with a picker
read(e)          its present text
*/
const NO_KEYS = ['date', 'time', 'datetime-local', 'month', 'week', 'color', 'range', 'file'];
const parts = {
  at(x, y) {
    let root = document, e = null;
    for (let depth = 0; depth < 20; depth++) {
      const hit = root.elementFromPoint(x, y);
      if (!hit || hit === e) break;
      e = hit;
      if (e.tagName === 'IFRAME' || e.tagName === 'FRAME') {
        const box = e.getBoundingClientRect();
        x -= box.left + e.clientLeft; y -= box.top + e.clientTop;
        try { root = e.contentDocument; } catch { root = null; }
        if (!root) break;
      } else if (e.shadowRoot) root = e.shadowRoot;
      else break;
    }
    const field = e?.closest('label')?.control || e?.closest('select') || e;
    const own = field && (field.tagName === 'SELECT' || field.tagName === 'INPUT' && NO_KEYS.includes(field.type));
    if (own) field.focus({preventScroll: true});
    return own ? 'given' : 'tap';
  },
  active() {
    let e = document.activeElement;
    while (e?.shadowRoot?.activeElement) e = e.shadowRoot.activeElement;
    return e && e !== document.body && e !== document.documentElement ? e : null;
  },
  describe(e) {
    const input = e.tagName === 'INPUT', area = e.tagName === 'TEXTAREA';
    const untyped = ['checkbox', 'radio', 'button', 'submit', 'reset', 'image', 'hidden'];
    let kind = 'none';
    if (e.tagName === 'IFRAME' || e.tagName === 'FRAME') kind = 'frame';
    else if (e.tagName === 'SELECT') kind = 'select';
    else if (input && e.type === 'file') kind = 'file';
    else if (input && NO_KEYS.includes(e.type)) kind = 'picker';
    else if (input && !untyped.includes(e.type) || area) kind = 'text';
    else if (e.isContentEditable) kind = 'rich';
    return {kind, type: e.type || '', multiline: area || kind === 'rich', password: e.type === 'password',
      locked: !!(e.disabled || e.readOnly), length: e.maxLength > 0 ? e.maxLength : 0};
  },
  select(e) {
    if (e.select) return void e.select();
    const range = e.ownerDocument.createRange();
    range.selectNodeContents(e);
    const selection = e.ownerDocument.getSelection();
    selection.removeAllRanges();
    selection.addRange(range);
  },
  choose(e, text) {
    const plain = (t) => t.replace(/\s+/g, ' ').trim().toLowerCase();
    const wanted = plain(text);
    const options = [...e.options].filter((o) => !o.disabled);
    const label = (o) => o.label || o.text;
    let found = options.filter((o) => plain(label(o)) === wanted || o.value === text);
    if (!found.length) found = options.filter((o) => wanted && plain(label(o)).includes(wanted));
    const names = options.slice(0, 40).map((o) => label(o).trim().slice(0, 60));
    if (!found.length || found.length > 1 && plain(label(found[0])) !== wanted) return {chosen: null, options: names};
    if (e.multiple) found[0].selected = true; else e.selectedIndex = found[0].index;
    e.dispatchEvent(new Event('input', {bubbles: true}));
    e.dispatchEvent(new Event('change', {bubbles: true}));
    return {chosen: label(found[0]).trim().slice(0, 200), options: names};
  },
  set(e, text) {
    const view = e.ownerDocument.defaultView;
    Object.getOwnPropertyDescriptor(view.HTMLInputElement.prototype, 'value').set.call(e, text);
    e.dispatchEvent(new Event('input', {bubbles: true}));
    e.dispatchEvent(new Event('change', {bubbles: true}));
    return e.value;
  },
  read(e) { return e.isContentEditable ? e.innerText : e.value; },
};
return parts[arguments[0]](...[...arguments].slice(1));
