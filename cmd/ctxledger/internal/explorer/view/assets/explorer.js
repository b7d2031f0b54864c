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

// A page of a live session follows it. A hidden page closes its event stream.
const address = document.body.dataset.live;
let stream = null;
const refresh = async () => {
  const answer = await fetch(location.href, { headers: { accept: 'text/html' } });
  if (!answer.ok) return;
  const page = new DOMParser().parseFromString(await answer.text(), 'text/html');
  const open = [...document.querySelectorAll('details')].map((d) => d.open);
  document.querySelector('main').replaceWith(page.querySelector('main'));
  document.querySelectorAll('details').forEach((d, i) => { d.open = Boolean(open[i]); });
};
const follow = () => {
  if (document.hidden) {
    if (stream) stream.close();
    stream = null;
  } else if (!stream) {
    stream = new EventSource(address);
    stream.addEventListener('change', refresh);
  }
};
if (address) {
  document.addEventListener('visibilitychange', () => { if (!document.hidden) refresh(); follow(); });
  follow();
}
