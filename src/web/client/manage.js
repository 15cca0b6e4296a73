// @ts-check
import { changePicture, createQueue } from './changing.js';
import { byId, language, make, say, UNITS } from './dom.js';
import { findMine } from './mine.js';
import { fetchPage, replaceFrom } from './page-parts.js';
import { shareRow } from './share.js';
import { deleteSoon, onAside, onGone } from './undo.js';

/** Parts of the page that a change of the picture affects. */
const PARTS = ['picture-name', 'picture-facts', 'picture-share', 'picture-shown'];
/** Older times are shown as dates. */
const RECENT_MS = 30 * 86_400_000;
/** What a select's value stands for, if it is not a time. */
const WITHOUT = 'none';

/**
 * Shows what the holder of a picture's token can do with it.
 * @param {import('./mine.js').Mine} mine
 * @param {HTMLAnchorElement} link that deletes it
 */
export function manage(mine, link) {
  link.hidden = false;
  link.addEventListener('click', (event) => {
    event.preventDefault();
    deleteSoon([mine]);
  });
  const page = document.querySelector('.picture-page');
  onAside(({ id, aside, fault }) => {
    if (id !== mine.id) return;
    page?.classList.toggle('leaving', aside);
    if (fault !== null)
      byId('picture-name', HTMLElement).after(make('p', { class: 'fault', role: 'alert' }, fault));
  });
  const home = /** @type {HTMLAnchorElement} */ (document.querySelector('a.brand')).href;
  onGone((id) => id === mine.id && location.replace(home));
  // Another page has deleted it.
  addEventListener('pageshow', ({ persisted }) => {
    if (persisted && findMine(mine.id) === null) location.reload();
  });
  showPanel(mine);
}

/** @param {import('./mine.js').Mine} mine */
function showPanel(mine) {
  const template = document.querySelector('template#manage');
  if (!(template instanceof HTMLTemplateElement)) return;
  template.replaceWith(template.content);
  const fold = byId('edit', HTMLDetailsElement);
  const form = /** @type {HTMLFormElement} */ (fold.querySelector('form'));
  const said = /** @type {HTMLElement} */ (form.querySelector('[role=status]'));
  const password = byId('edit-password', HTMLInputElement);
  const visibility = byId('edit-visibility', HTMLSelectElement);
  if (location.hash === '#edit') {
    fold.open = true;
    fold.scrollIntoView({ block: 'center' });
    form.querySelector('input')?.focus({ preventScroll: true });
  }
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    if (document.activeElement instanceof HTMLElement) document.activeElement.blur();
  });
  form.addEventListener('change', ({ target }) => {
    if (target instanceof HTMLInputElement || target instanceof HTMLSelectElement) void save(target);
  });

  /** @param {string} words @param {boolean} isBad */
  function tell(words, isBad) {
    said.textContent = words;
    said.classList.toggle('warned', isBad);
  }

  const inTurn = createQueue();
  /** @param {HTMLInputElement | HTMLSelectElement} field */
  function save(field) {
    const isProtected = field.name === 'visibility' && field.value === 'protected';
    password.required = isProtected;
    if (isProtected && !password.reportValidity()) return tell(say('passwordMissing'), true);
    const isWithout = field instanceof HTMLSelectElement && field.value === WITHOUT;
    const change = isProtected
      ? { password: password.value }
      : { [field.name]: isWithout ? null : field.value };
    void inTurn(() => send(field, change));
  }

  /**
   * @param {HTMLInputElement | HTMLSelectElement} field
   * @param {Record<string, string | null>} change
   */
  async function send(field, change) {
    tell(say('saving'), false);
    const { body, fault } = await changePicture(mine, change);
    const isOpen = visibility.value === 'protected' && body?.protected === false;
    tell(fault ?? say(isOpen ? 'passwordMissing' : 'saved'), isOpen || fault !== null);
    // What could not be saved does not look as if it were.
    if (field instanceof HTMLSelectElement)
      for (const option of field.options) {
        if (fault === null) option.defaultSelected = option.selected;
        else option.selected = option.defaultSelected;
      }
    // With its new password, this browser may still see it.
    if (fault === null && change.password)
      await fetch(new URL(mine.url, location.href).pathname, {
        method: 'POST',
        body: new URLSearchParams({ password: change.password }),
      }).catch(() => {});
    if (fault === null) await refresh();
  }
}

/** Shows the changed picture. Only the server renders it. */
async function refresh() {
  const page = await fetchPage(location.pathname).catch(() => null);
  if (!page) return;
  document.title = page.title;
  replaceFrom(page, PARTS);
  finishPage();
}

/** Completes what the server cannot: the ways to share, and times as the visitor counts them. */
export function finishPage() {
  const shared = document.querySelector('[data-share]');
  if (shared instanceof HTMLElement) shared.append(shareRow(JSON.parse(shared.dataset.share ?? '{}')));
  sayTimes();
}

const dates = new Intl.DateTimeFormat(language, { dateStyle: 'medium', timeStyle: 'short' });
const relative = new Intl.RelativeTimeFormat(language, { numeric: 'auto' });

/** Writes times as the visitor counts them: how long ago by the server's clock, with the local time for the pointer. */
function sayTimes() {
  const facts = document.getElementById('picture-facts');
  const now = Date.parse(facts?.dataset.now ?? '');
  for (const time of facts?.querySelectorAll('time') ?? []) {
    if (!(time instanceof HTMLTimeElement)) continue;
    const ms = Date.parse(time.dateTime) - now;
    // Allows for the time since the picture was stored: `in 1 hour`, not `in 60 minutes`.
    const [unit, length] = UNITS.find(([, least]) => Math.abs(ms) + 30_000 >= least) ?? UNITS[3];
    const text = relative.format(Math.round(ms / length), unit);
    const local = dates.format(Date.parse(time.dateTime));
    time.textContent = Math.abs(ms) < RECENT_MS ? text : local;
    time.title = local;
  }
}
