/* Remembers short-lived messages between two looks; collector.js takes them out again.

Installed in every document of the phone's browser before the page's own scripts, in the same
isolated world as the collector. Keeps the last 20 texts. */
(() => {
  const KEY = Symbol.for('artemis.toasts');
  if (window[KEY]) return;
  const seen = window[KEY] = [];
  const LIVE = '[role=status],[role=alert],[aria-live=polite],[aria-live=assertive],output';
  const note = (node) => {
    const live = (node.nodeType === 1 ? node : node.parentElement)?.closest?.(LIVE);
    if (!live || !live.checkVisibility?.({opacityProperty: false, visibilityProperty: true})) return;
    const text = (live.innerText || '').replace(/\s+/g, ' ').trim().slice(0, 200);
    if (!text || seen.includes(text)) return;
    seen.push(text);
    if (seen.length > 20) seen.shift();
  };
  new MutationObserver((records) => {
    for (const record of records.slice(0, 200)) {
      note(record.target);
      for (const added of [...record.addedNodes].slice(0, 20)) {
        note(added);
        if (added.nodeType === 1 && added.childElementCount) for (const live of [...added.querySelectorAll(LIVE)].slice(0, 5)) note(live);
      }
    }
  }).observe(document, {subtree: true, childList: true, characterData: true, attributes: true,
    attributeFilter: ['class', 'style', 'hidden', 'open']});
})();
