// @ts-check
import { button, make, say } from './dom.js';

/**
 * Returns a box that chooses the picture of a list's item.
 * @param {string} name
 */
export function tickBox(name) {
  return make('input', { type: 'checkbox', class: 'tick', 'aria-label': say('choose', { name }) });
}

/**
 * Shows a bar of actions while pictures of a list are chosen. Shift chooses all from the last one on.
 * @param {HTMLElement} list
 * @param {HTMLElement} bar shown with the number, and a box for all
 * @param {Record<string, (items: HTMLElement[]) => void>} actions by their labels; with the chosen items
 */
export function chooseIn(list, bar, actions) {
  const count = make('span', { class: 'muted small' });
  const all = make('input', { type: 'checkbox', 'aria-label': say('chooseAll') });
  const boxes = () =>
    [...list.querySelectorAll('.tick')].flatMap((box) =>
      box instanceof HTMLInputElement && !box.closest('li')?.hidden ? [box] : [],
    );
  const chosen = () => boxes().filter(({ checked }) => checked);
  /** @type {HTMLInputElement | null} */
  let last = null;

  function show() {
    const [some, most] = [chosen().length, boxes().length];
    bar.hidden = some === 0;
    count.textContent = say('chosen', { count: some });
    all.checked = some === most;
    all.indeterminate = some > 0 && some < most;
  }

  list.addEventListener('click', (event) => {
    const { target: box } = event;
    if (!(box instanceof HTMLInputElement) || !box.matches('.tick')) return;
    const known = boxes();
    const [from, to] = [last ? known.indexOf(last) : -1, known.indexOf(box)].sort((a, b) => a - b);
    if (event.shiftKey && from !== undefined && to !== undefined && from >= 0)
      for (const one of known.slice(from, to + 1)) one.checked = box.checked;
    last = box;
    show();
  });
  all.addEventListener('change', () => {
    for (const box of boxes()) box.checked = all.checked;
    show();
  });
  const buttons = Object.entries(actions).map(([label, act]) => {
    const click = () => {
      const items = chosen().flatMap((box) => box.closest('li') ?? []);
      for (const box of chosen()) box.checked = false;
      act(items);
      show();
    };
    return button(label, 'quiet small', click);
  });
  bar.replaceChildren(make('label', { class: 'check' }, all, count), ...buttons);
}
