// @ts-check

// Otherwise the form would load another page, which would interrupt a running upload.
const form = document.querySelector('form.preferences');
if (form instanceof HTMLFormElement) form.addEventListener('submit', (event) => choose(event, form));

/**
 * @param {SubmitEvent} event
 * @param {HTMLFormElement} form
 */
function choose(event, form) {
  const { submitter } = event;
  if (!(submitter instanceof HTMLButtonElement) || submitter.name !== 'theme') return;
  event.preventDefault();
  if (submitter.value === 'system') delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = submitter.value;
  for (const button of submitter.parentElement?.children ?? []) {
    button.setAttribute('aria-pressed', String(button === submitter));
  }
  const body = new URLSearchParams({ theme: submitter.value });
  void fetch(form.action, { method: 'POST', body, redirect: 'manual' }).catch(() => {});
}
