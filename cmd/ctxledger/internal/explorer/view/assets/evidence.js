// The buttons of the evidence page send what no form of another site can send.
const state = document.getElementById('pack-state');
const send = async (button, doing, address, type, body) => {
  button.disabled = true;
  state.textContent = doing + ' …';
  try {
    const answer = await fetch(address, { method: 'POST', headers: { 'content-type': type, accept: 'application/zip, text/html' }, body });
    if (answer.ok) return answer;
    const problem = await answer.json().catch(() => ({}));
    state.textContent = problem.detail || 'the server answers ' + answer.status;
  } catch {
    state.textContent = 'the server does not answer: try again';
  } finally {
    button.disabled = false;
  }
  return null;
};
for (const button of document.querySelectorAll('[data-make], [data-verify]')) button.hidden = false;
addEventListener('click', async (event) => {
  const button = event.target.closest && event.target.closest('[data-make], [data-verify]');
  if (!button) return;
  const form = button.form.elements;
  if (button.dataset.make) {
    const answer = await send(button, 'making the pack', button.dataset.make, 'application/json', JSON.stringify({ tenant: form.tenant.value, session: form.session.value.trim() }));
    if (!answer) return;
    const link = document.createElement('a');
    link.href = URL.createObjectURL(await answer.blob());
    link.download = 'pack-' + form.session.value.trim().replace(/[^\w.-]+/g, '_') + '.zip';
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 60000);
    state.textContent = link.download + ' was made';
    return;
  }
  if (!form.pack.files.length) {
    state.textContent = 'choose a pack first';
    return;
  }
  const answer = await send(button, 'verifying the pack', button.dataset.verify + '?key=' + encodeURIComponent(form.key.value.trim()), 'application/zip', form.pack.files[0]);
  if (!answer) return;
  const page = new DOMParser().parseFromString(await answer.text(), 'text/html');
  document.querySelector('main').replaceWith(page.querySelector('main'));
  document.title = page.title;
  const heading = document.querySelector('main h1');
  heading.tabIndex = -1;
  heading.focus();
});
