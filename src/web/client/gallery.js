// @ts-check
import { announce, ask, byId, make, say } from './dom.js';
import { keep, recall } from './kept.js';
import { fetchPage, REPLACED } from './page-parts.js';
import { shareRow } from './share.js';

const results = byId('results', HTMLElement);
/** Present if this visitor needs no token to upload. */
const upload = document.querySelector('form[data-paste]');
document.addEventListener('paste', ({ clipboardData, target }) => {
  // Text that is copied from a document often comes with its picture.
  if (target instanceof HTMLInputElement) return;
  if (!(upload instanceof HTMLFormElement) || !clipboardData?.files.length) return;
  const [input] = upload.querySelectorAll('input');
  if (input) input.files = clipboardData.files;
  // Its answer is the page of the picture.
  upload.submit();
});
/** What a returning visitor saw, in case the browser has not kept the page itself. */
const KEPT = 'picpool:gallery';
/** Pictures further from the place than this are kept as empty boxes: browsers store about 5 MB. */
const KEPT_WHOLE = 400;
/** Pictures are loaded this far ahead. */
const NEAR = '1600px';

/** @returns {HTMLAnchorElement | null} */
const moreLink = () => results.querySelector('a[data-more]');
/** @returns {HTMLAnchorElement[]} */
const shots = () =>
  [...results.querySelectorAll('a.shot')].filter((shot) => shot instanceof HTMLAnchorElement);
/** @returns {NodeListOf<HTMLLIElement>} */
const items = () => results.querySelectorAll('.rows > li');

/** Older browsers cannot read numbers from attributes in style sheets. */
function setRatios() {
  if (CSS.supports('width: attr(x type(<length>), 1px)')) return;
  for (const item of results.querySelectorAll('li'))
    item.style.setProperty('--ratio', item.dataset.ratio ?? '');
}

/** Puts empty boxes where the pictures of the next page will be, so that nothing moves when they come. */
function reserve() {
  const ahead = results.querySelector('template');
  if (ahead) results.querySelector('.rows')?.append(ahead.content);
  ahead?.remove();
  setRatios();
}

/**
 * Returns the URL of the page that an empty box or the link stands for.
 * @param {Element | null} target
 */
function pageOf(target) {
  if (target instanceof HTMLAnchorElement) return target.href;
  let item = target;
  while (item instanceof HTMLElement && !item.dataset.page) item = item.previousElementSibling;
  return item instanceof HTMLElement ? new URL(item.dataset.page ?? '', location.href).href : null;
}

/**
 * Shows the pictures of a page in their boxes. Those without a box are new at the end.
 * @param {Document} page
 * @param {string} url
 */
function show(page, url) {
  const link = moreLink();
  /** @type {Map<string | undefined, HTMLElement>} */
  const empty = new Map();
  /** @type {Set<HTMLElement>} */
  const gone = new Set();
  let isOfPage = false;
  for (const item of items()) {
    if (item.dataset.page) isOfPage = pageOf(item) === url;
    if (item.childElementCount > 0) continue;
    empty.set(item.dataset.id, item);
    if (isOfPage) gone.add(item);
  }
  const added = [];
  for (const item of page.querySelectorAll('#results .rows > li')) {
    const box = item instanceof HTMLElement ? empty.get(item.dataset.id) : undefined;
    if (box) {
      box.replaceChildren(...item.childNodes);
      gone.delete(box);
    } else added.push(item);
  }
  for (const box of gone) box.hidden = true;
  if (link?.href !== url) return;
  const rows = results.querySelector('.rows');
  if (rows) rows.append(...added);
  else
    results.querySelector('.empty')?.replaceWith(page.querySelector('#results .rows, #results .empty') ?? '');
  const rest = page.querySelectorAll('#results > template, #results > .more');
  link.closest('.more')?.replaceWith(...rest);
  reserve();
}

/** What has the focus of a keyboard below the pictures. More of them would push it out of sight. */
const below = () => document.querySelector('footer :focus-visible');

let loading = false;

/**
 * Loads a page, and reports whether it came.
 * @param {string} url
 * @param {boolean} asked by a click
 */
async function load(url, asked) {
  loading = true;
  const link = moreLink();
  const place = results.firstElementChild;
  if (link?.href === url) link.textContent = say('loading');
  try {
    const page = await fetchPage(url);
    // A filter may have replaced all of it meanwhile.
    if (!place?.isConnected) return true;
    const first = page.querySelector('a.shot');
    const count = page.querySelectorAll('a.shot').length;
    show(page, url);
    below()?.scrollIntoView({ block: 'nearest' });
    announce(say('added', { count }));
    if (asked && first instanceof HTMLElement) first.focus();
    return true;
  } catch {
    // The link still leads to the next page.
    if (link?.href === url) link.textContent = say('notLoaded');
    announce(say('unreachable'));
    return false;
  } finally {
    loading = false;
  }
}

/** Boxes that are visible or will be soon, and the link to more. @type {Set<Element>} */
const near = new Set();

/** Loads what is near, page by page: meanwhile, a fast visitor may be elsewhere. */
async function loadNear() {
  while (!loading && !below()) {
    const [target] = near;
    if (!target) return;
    const url = target.isConnected && (target.matches('a') || target.matches(':empty')) && pageOf(target);
    if (url && !(await load(url, false))) return;
    near.delete(target);
    observer.unobserve(target);
    if (url) watch();
  }
}

const observer = new IntersectionObserver(
  (entries) => {
    for (const { isIntersecting, target } of entries) near[isIntersecting ? 'add' : 'delete'](target);
    void loadNear();
  },
  { rootMargin: NEAR },
);

/** Observes what is still to be loaded. What is observed already is not observed twice. */
function watch() {
  for (const item of items()) if (item.childElementCount === 0) observer.observe(item);
  const link = moreLink();
  if (link) observer.observe(link);
}

/** Tries again what did not come. */
function watchAgain() {
  observer.disconnect();
  near.clear();
  watch();
}

results.addEventListener('click', (event) => {
  const link = event.target instanceof Element ? event.target.closest('a[data-more]') : null;
  if (!(link instanceof HTMLAnchorElement) || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  if (!loading) void load(link.href, true).then((came) => came && watchAgain());
});

/** @param {HTMLElement} button of a tile */
async function share(button) {
  const id = button.closest('li')?.dataset.id ?? '';
  const { body, fault } = await ask(location.pathname.replace(/gallery$/, `api/info/${id}`));
  const close = make('button', { type: 'button', class: 'quiet' }, say('close'));
  const label = button.getAttribute('aria-label') ?? '';
  const content = fault === null ? shareRow(body) : make('p', { class: 'fault' }, fault);
  const dialog = make('dialog', { class: 'share-dialog', popover: '', 'aria-label': label }, content, close);
  close.addEventListener('click', () => dialog.hidePopover());
  dialog.addEventListener('toggle', (event) => {
    if (event.newState !== 'closed') return;
    // A QR code has opened above it, and closes with it.
    dialog.remove();
    if (document.activeElement === document.body) button.focus();
  });
  document.body.append(dialog);
  dialog.showPopover();
  (dialog.querySelector('button') ?? close).focus();
}

results.addEventListener('click', ({ target }) => {
  const button = target instanceof Element ? target.closest('.shot-share') : null;
  if (button instanceof HTMLElement) void share(button);
});

/**
 * Returns the tile that a key moves to: along the row, or the nearest one in the row above or below.
 * @param {HTMLAnchorElement} from
 * @param {string} key
 */
function reached(from, key) {
  const all = shots();
  const place = all.indexOf(from);
  if (key === 'ArrowLeft') return all[place - 1];
  if (key === 'ArrowRight') return all[place + 1];
  if (key !== 'ArrowUp' && key !== 'ArrowDown') return undefined;
  const { top, left, width } = from.getBoundingClientRect();
  const others = all
    .map((shot) => ({ shot, box: shot.getBoundingClientRect() }))
    .filter(({ box }) => (key === 'ArrowUp' ? box.top < top - 1 : box.top > top + 1));
  const row = key === 'ArrowUp' ? others.at(-1)?.box.top : others[0]?.box.top;
  /** @param {DOMRect} box */
  const apart = (box) => Math.abs(box.left + box.width / 2 - left - width / 2);
  return others
    .filter(({ box }) => Math.abs(box.top - (row ?? 0)) < 2)
    .sort((one, other) => apart(one.box) - apart(other.box))[0]?.shot;
}

results.addEventListener('keydown', (event) => {
  const from = event.target instanceof Element ? event.target.closest('a.shot') : null;
  const to = from instanceof HTMLAnchorElement ? reached(from, event.key) : undefined;
  if (!to) return;
  event.preventDefault();
  to.focus();
});

document.querySelector('footer')?.addEventListener('focusout', () => requestAnimationFrame(loadNear));
addEventListener('online', watchAgain);

document.addEventListener(REPLACED, () => {
  reserve();
  watchAgain();
});

addEventListener('pagehide', () => {
  const all = [...items()];
  const here = all.findIndex((item) => item.getBoundingClientRect().bottom > 0);
  // Only pages with a URL can be loaded again as they were. New pictures would change the first one.
  const start = all.findIndex((item) => item.matches('[data-page]'));
  all.forEach((item, index) => {
    if (start !== -1 && index >= start && Math.abs(index - here) > KEPT_WHOLE) item.replaceChildren();
  });
  // If it is too much to keep, a returning visitor starts with the first pictures.
  const state = JSON.stringify({ url: location.href, y: scrollY, html: results.innerHTML });
  keep(KEPT, state, 'sessionStorage');
});

addEventListener('pageshow', ({ persisted }) => persisted && watchAgain());

const [entry] = performance.getEntriesByType('navigation');
if (entry instanceof PerformanceNavigationTiming && entry.type === 'back_forward') {
  const kept = JSON.parse(recall(KEPT, 'sessionStorage') ?? 'null');
  if (kept?.url === location.href) {
    const page = new DOMParser().parseFromString(kept.html, 'text/html');
    results.replaceChildren(...page.body.childNodes);
    setRatios();
    scrollTo(0, kept.y);
  }
}
reserve();
watch();
