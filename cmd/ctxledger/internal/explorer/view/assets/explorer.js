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

// The column or block under the pointer is written out next to it.
const tip = document.createElement('div');
tip.className = 'tip';
tip.hidden = true;
document.body.append(tip);
addEventListener('pointermove', (event) => {
  const hit = event.target.closest && event.target.closest('.hit');
  tip.hidden = !hit;
  if (!hit) return;
  const title = hit.querySelector('title');
  if (title) { // the browser would show it, too
    hit.dataset.say = title.textContent;
    title.remove();
  }
  tip.textContent = hit.dataset.say;
  tip.style.left = Math.max(4, Math.min(event.clientX + 12, innerWidth - tip.offsetWidth - 4)) + 'px';
  tip.style.top = (event.clientY > innerHeight - 90 ? event.clientY - tip.offsetHeight - 12 : event.clientY + 18) + 'px';
});
addEventListener('scroll', () => { tip.hidden = true; }, true);

// Dragging from one column to another compares the two calls, as the form of the chart does.
let first = null;
const hits = () => [...first.ownerSVGElement.querySelectorAll('.hit[data-first]')];
const span = (last) => {
  const [from, to] = [first, last].map((hit) => Number(hit.dataset.first)).sort((a, b) => a - b);
  for (const hit of hits()) hit.classList.toggle('span', Number(hit.dataset.first) >= from && Number(hit.dataset.first) <= to);
};
const drop = () => {
  if (first) for (const hit of hits()) hit.classList.remove('span');
  first = null;
};
const columnOf = (event) => event.target.closest && event.target.closest('.hit[data-first]');
addEventListener('pointerover', (event) => {
  const hit = columnOf(event);
  if (hit && first && hit.ownerSVGElement === first.ownerSVGElement) span(hit);
});
addEventListener('pointerdown', (event) => {
  drop();
  if (event.button === 0 && event.pointerType !== 'touch' && document.querySelector('form.compare')) first = columnOf(event);
});
addEventListener('pointerup', (event) => {
  const last = columnOf(event);
  const form = document.querySelector('form.compare');
  if (first && last && form && last !== first && last.ownerSVGElement === first.ownerSVGElement) {
    form.elements.from.value = first.dataset.first;
    form.elements.to.value = last.dataset.first;
    form.querySelector('button[value=compare]').click();
  }
  drop();
});
addEventListener('pointercancel', drop);
addEventListener('keydown', (event) => { if (event.key === 'Escape') drop(); });
addEventListener('dragstart', (event) => { if (first) event.preventDefault(); });

for (const button of document.querySelectorAll('.copy')) button.hidden = !navigator.clipboard;
addEventListener('click', async (event) => {
  const button = event.target.closest && event.target.closest('.copy');
  if (!button) return;
  await navigator.clipboard.writeText(button.parentElement.querySelector('pre').textContent);
  button.textContent = 'Copied';
});

// A page of a live session follows it. It reads itself once at a time, so that an older answer cannot
// come last. The event stream reports each change once: if the server is away or cannot answer, the page reads
// itself again, each time after twice the pause. A hidden page reads nothing and closes its event stream. The next
// stream begins with what was read last.
const shortest = 2000, longest = 60000; // milliseconds
let address = document.body.dataset.live;
let stream = null, asked = false, reading = false, pause = shortest, later;
const read = async () => {
  const answer = await fetch(location.href, { headers: { accept: 'text/html' } });
  if (answer.status >= 500) throw new Error(answer.statusText);
  if (!answer.ok) return;
  const page = new DOMParser().parseFromString(await answer.text(), 'text/html');
  const open = [...document.querySelectorAll('details')].map((d) => d.open);
  document.querySelector('main').replaceWith(page.querySelector('main'));
  document.querySelectorAll('details').forEach((d, i) => { d.open = Boolean(open[i]); });
  address = page.body.dataset.live || address;
};
const refresh = async () => {
  clearTimeout(later);
  asked = true;
  if (reading || document.hidden) return;
  reading = true;
  while (asked) {
    asked = false;
    try {
      await read();
      pause = shortest;
    } catch {
      later = setTimeout(refresh, pause);
      pause = Math.min(2 * pause, longest);
    }
  }
  reading = false;
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
  document.addEventListener('visibilitychange', async () => {
    if (!document.hidden) await refresh();
    follow();
  });
  follow();
}
