// @ts-check
import { announce, byId, say } from './dom.js';

const results = byId('results', HTMLElement);
/** What a returning visitor saw, in case the browser has not kept the page itself. */
const KEPT = 'picpool:gallery';
/** Loading starts this far ahead, so that nothing visible moves: rows fill up, and what is below them moves down. */
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

let loading = false;

/** Appends the next pictures. @param {boolean} asked by a click */
async function loadMore(asked) {
  const link = moreLink();
  if (!link || loading) return;
  loading = true;
  link.textContent = say('loading');
  try {
    const answer = await fetch(link.href, { headers: { accept: 'text/html' } });
    if (!answer.ok) throw new Error(String(answer.status));
    const page = new DOMParser().parseFromString(await answer.text(), 'text/html');
    // A filter may have replaced it meanwhile.
    if (!link.isConnected) return;
    const items = [...page.querySelectorAll('#results .rows > li')];
    const next = page.querySelector('#results .more');
    const shown = results.querySelector('.rows');
    const place = /** @type {HTMLElement} */ (link.closest('.more'));
    if (shown) shown.append(...items);
    else
      results
        .querySelector('.empty')
        ?.replaceWith(page.querySelector('#results .rows, #results .empty') ?? '');
    if (next) place.replaceWith(next);
    else place.remove();
    setRatios();
    announce(say('added', { count: items.length }));
    const first = items[0]?.querySelector('a');
    if (asked && first) first.focus();
    watch();
  } catch {
    // The link still leads to the next page.
    link.textContent = say('notLoaded');
    announce(say('unreachable'));
  } finally {
    loading = false;
  }
}

const observer = new IntersectionObserver(
  (entries) => {
    if (entries.some(({ isIntersecting }) => isIntersecting)) void loadMore(false);
  },
  { rootMargin: NEAR },
);

function watch() {
  observer.disconnect();
  const link = moreLink();
  if (link) observer.observe(link);
}

results.addEventListener('click', (event) => {
  const link = event.target instanceof Element ? event.target.closest('a[data-more]') : null;
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  void loadMore(true);
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

addEventListener('online', watch);

document.addEventListener('replaced', () => {
  setRatios();
  watch();
});

addEventListener('pagehide', () => {
  try {
    sessionStorage.setItem(KEPT, JSON.stringify({ url: location.href, y: scrollY, html: results.innerHTML }));
  } catch {
    // Too much to keep: a returning visitor starts with the first pictures.
  }
});

const [entry] = performance.getEntriesByType('navigation');
if (entry instanceof PerformanceNavigationTiming && entry.type === 'back_forward') {
  const kept = JSON.parse(sessionStorage.getItem(KEPT) ?? 'null');
  if (kept?.url === location.href) {
    const page = new DOMParser().parseFromString(kept.html, 'text/html');
    results.replaceChildren(...page.body.childNodes);
    scrollTo(0, kept.y);
  }
}
setRatios();
watch();
