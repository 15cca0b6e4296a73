// @ts-check
import { announce, ask, byId, make, say } from './dom.js';
import { keep, recall } from './kept.js';
import { hideDeleted } from './mine.js';
import { fetchPage, REPLACED } from './page-parts.js';
import './results.js';
import { popUp, shareRow } from './share.js';

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
/** Pictures are loaded this far ahead. */
const NEAR = '1600px';

/** @returns {HTMLAnchorElement | null} */
const moreLink = () => results.querySelector('a[data-more]');
/** @returns {HTMLAnchorElement[]} */
const shots = () =>
  [...results.querySelectorAll('a.shot')].filter((shot) => shot instanceof HTMLAnchorElement);
/** Older browsers cannot read numbers from attributes in style sheets. */
function setRatios() {
  if (CSS.supports('width: attr(x type(<length>), 1px)')) return;
  for (const item of results.querySelectorAll('li'))
    item.style.setProperty('--ratio', item.dataset.ratio ?? '');
}

/** What has the focus of a keyboard below the pictures. More of them would push it out of sight. */
const below = () => document.querySelector('footer :focus-visible');

let loading = false;

/**
 * Adds the pictures of the next page.
 * @param {boolean} [isAsked] by a click
 */
async function load(isAsked = false) {
  const link = moreLink();
  if (loading || !link) return;
  loading = true;
  link.textContent = say('loading');
  try {
    const page = await fetchPage(link.href);
    // A filter may have replaced it meanwhile.
    if (!link.isConnected) return;
    const added = page.querySelectorAll('#results .rows > li');
    const rows = results.querySelector('.rows');
    if (rows) rows.append(...added);
    else
      results.querySelector('.empty')?.replaceWith(...page.querySelectorAll('#results :is(.rows, .empty)'));
    link.closest('.more')?.replaceWith(...page.querySelectorAll('#results > .more'));
    setRatios();
    below()?.scrollIntoView({ block: 'nearest' });
    announce(say('added', { count: added.length }));
    if (isAsked) added[0]?.querySelector('a')?.focus();
  } catch {
    // The link still leads to the next page.
    link.textContent = say('notLoaded');
    announce(say('unreachable'));
  } finally {
    loading = false;
    // One that came meanwhile was seen, but not followed.
    if (moreLink() !== link) watch();
  }
}

const observer = new IntersectionObserver(
  (entries) => {
    if (entries.some(({ isIntersecting }) => isIntersecting) && !below()) void load();
  },
  { rootMargin: NEAR },
);

/** Loads more once the link to it is near, which a new observation reports again. */
function watch() {
  observer.disconnect();
  const link = moreLink();
  if (link) observer.observe(link);
}

results.addEventListener('click', (event) => {
  const link = event.target instanceof Element ? event.target.closest('a[data-more]') : null;
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  void load(true);
});

/** @param {HTMLElement} button of a tile */
async function share(button) {
  const id = button.closest('li')?.dataset.id ?? '';
  const { body, fault } = await ask(location.pathname.replace(/gallery$/, `api/info/${id}`));
  popUp(
    button.getAttribute('aria-label') ?? '',
    fault === null ? shareRow(body) : make('p', { class: 'fault' }, fault),
  );
}

results.addEventListener('click', ({ target }) => {
  const button = target instanceof Element ? target.closest('.shot-share') : null;
  if (button instanceof HTMLElement) void share(button);
});

/** @type {Record<string, number>} */
const STEPS = { ArrowLeft: -1, ArrowRight: 1 };

results.addEventListener('keydown', (event) => {
  const step = STEPS[event.key];
  const all = shots();
  const place = all.indexOf(/** @type {HTMLAnchorElement} */ (event.target));
  const to = step === undefined || place < 0 ? undefined : all[place + step];
  if (!to) return;
  event.preventDefault();
  to.focus();
});

document.querySelector('footer')?.addEventListener('focusout', () => requestAnimationFrame(watch));
addEventListener('online', watch);

document.addEventListener(REPLACED, () => {
  setRatios();
  watch();
});

addEventListener('pagehide', () => {
  // Marks those that have come since.
  hideDeleted();
  const state = JSON.stringify({ url: location.href, y: scrollY, html: results.innerHTML });
  const isOther = results.ariaBusy || results.querySelector('.banner');
  // If they are not those of the URL, or too much to keep, a returning visitor starts with the first pictures.
  if (isOther || !keep(KEPT, state, 'sessionStorage')) keep(KEPT, null, 'sessionStorage');
});

const [entry] = performance.getEntriesByType('navigation');
const isBack = entry instanceof PerformanceNavigationTiming && entry.type === 'back_forward';
const kept = isBack ? JSON.parse(recall(KEPT, 'sessionStorage') ?? 'null') : null;
const isKept = kept?.url === location.href;
if (isKept) {
  const page = new DOMParser().parseFromString(kept.html, 'text/html');
  results.replaceChildren(...page.body.childNodes);
}
setRatios();
// The rows have their heights only now.
if (isKept) scrollTo(0, kept.y);
watch();
