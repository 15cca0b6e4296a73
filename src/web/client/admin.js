// @ts-check

// One key decides about a picture in review.
document.addEventListener('keydown', (event) => {
  const isTyping = event.target instanceof Element && event.target.closest('input, select, textarea');
  if (isTyping || event.ctrlKey || event.metaKey || event.altKey || event.repeat) return;
  const button = document.querySelector(`button[data-key="${CSS.escape(event.key)}"]`);
  // A key pressed twice is like a double click.
  const isReady = button && getComputedStyle(button).pointerEvents !== 'none';
  if (isReady && button instanceof HTMLButtonElement) button.click();
});

// The template of a reason, until somebody has changed it.
const reason = document.querySelector('#reason');
const statement = document.querySelector('#statement');
if (reason instanceof HTMLSelectElement && statement instanceof HTMLTextAreaElement) {
  let written = '';
  const fill = () => {
    if (statement.value !== written) return;
    written = reason.selectedOptions[0]?.dataset.statement ?? '';
    statement.value = written;
  };
  reason.addEventListener('change', fill);
  fill();
}
