// The pages work without this script. It lets the arrow keys walk the calls, and outlines the
// call that the address names.
const outline = () => {
  const call = location.hash.match(/^#c(\d+)$/);
  if (!call) return;
  for (const hit of document.querySelectorAll('.hit')) {
    hit.classList.toggle('on', Number(hit.dataset.first) <= Number(call[1]) && Number(call[1]) <= Number(hit.dataset.last));
  }
};
const shown = () => document.querySelector('.call:target') || document.querySelector('.call');
addEventListener('keydown', (event) => {
  if (event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return;
  if (/^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName)) return;
  const rel = { ArrowLeft: 'prev', ArrowRight: 'next' }[event.key];
  const link = rel && shown() && shown().querySelector('a[rel=' + rel + ']');
  if (link) {
    event.preventDefault();
    link.click();
  }
});
addEventListener('hashchange', outline);
outline();
