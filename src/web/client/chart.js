// @ts-check
import { language, make, readableNumber } from './dom.js';
import { REPLACED } from './page-parts.js';

/** @typedef {{ x: number, value: number, at: number }} Point `x` of 600, `at` in seconds since 1970 */

const WIDTH = 600;
const times = new Intl.DateTimeFormat(language, {
  timeZone: 'UTC',
  dateStyle: 'medium',
  timeStyle: 'short',
  hourCycle: 'h23',
});

/**
 * @param {HTMLElement} plot
 * @returns {Point[]}
 */
function pointsOf(plot) {
  return (plot.dataset.chart ?? '').split(',').map((part) => {
    const [x = 0, value = 0, at = 0] = part.split(' ').map(Number);
    return { x, value, at };
  });
}

/**
 * Shows the value at a point: a mark on the line, and words beside it.
 * @param {HTMLElement} plot
 * @param {number} index
 */
function read(plot, index) {
  const points = pointsOf(plot);
  const place = Math.max(0, Math.min(points.length - 1, index));
  const point = points[place];
  if (!point) return;
  plot.dataset.index = String(place);
  let mark = plot.querySelector('.chart-mark');
  let tip = plot.querySelector('.chart-tip');
  if (!(mark instanceof HTMLElement) || !(tip instanceof HTMLElement)) {
    mark = make('span', { class: 'chart-mark' });
    tip = make('span', { class: 'chart-tip' });
    plot.append(mark, tip);
  }
  const left = (100 * point.x) / WIDTH;
  const words = `${times.format(point.at * 1000)}: ${readableNumber(point.value)}`;
  if (mark instanceof HTMLElement) {
    mark.style.left = `${left}%`;
    mark.style.top = `${100 * (1 - point.value / Number(plot.dataset.top))}%`;
  }
  if (tip instanceof HTMLElement) {
    tip.textContent = words;
    tip.style.left = `${left}%`;
    tip.classList.toggle('left', left > 50);
  }
  plot.setAttribute('aria-valuenow', String(place));
  plot.setAttribute('aria-valuetext', words);
}

/** @param {HTMLElement} plot */
function clear(plot) {
  delete plot.dataset.index;
  for (const part of plot.querySelectorAll('.chart-mark, .chart-tip')) part.remove();
}

/** @param {EventTarget | null} target */
const plotOf = (target) => {
  const plot = target instanceof Element ? target.closest('[data-chart]') : null;
  return plot instanceof HTMLElement ? plot : null;
};

document.addEventListener('pointermove', ({ target, clientX }) => {
  const plot = plotOf(target);
  for (const other of document.querySelectorAll('[data-chart][data-index]')) {
    if (other !== plot && other !== document.activeElement && other instanceof HTMLElement) clear(other);
  }
  if (!plot) return;
  const { left, width } = plot.getBoundingClientRect();
  const x = (WIDTH * (clientX - left)) / width;
  const distances = pointsOf(plot).map((point) => Math.abs(point.x - x));
  read(plot, distances.indexOf(Math.min(...distances)));
});

document.addEventListener('focusin', ({ target }) => {
  const plot = plotOf(target);
  if (plot) read(plot, pointsOf(plot).length - 1);
});
document.addEventListener('focusout', ({ target }) => {
  const plot = plotOf(target);
  if (plot) clear(plot);
});

document.addEventListener('keydown', (event) => {
  const plot = plotOf(event.target);
  if (!plot) return;
  const last = pointsOf(plot).length - 1;
  const index = Number(plot.dataset.index ?? last);
  /** @type {Record<string, number>} */
  const places = {
    ArrowLeft: index - 1,
    ArrowRight: index + 1,
    PageUp: index - 12,
    PageDown: index + 12,
    Home: 0,
    End: last,
  };
  const place = places[event.key];
  if (place === undefined) return;
  event.preventDefault();
  read(plot, place);
});

/** With a script, the picture becomes a slider whose values are announced as it moves. */
function makeReadable() {
  for (const plot of document.querySelectorAll('[data-chart]')) {
    if (!(plot instanceof HTMLElement)) continue;
    const last = String(pointsOf(plot).length - 1);
    plot.tabIndex = 0;
    plot.setAttribute('role', 'slider');
    plot.setAttribute('aria-valuemin', '0');
    plot.setAttribute('aria-valuemax', last);
    plot.setAttribute('aria-valuenow', last);
  }
}
document.addEventListener(REPLACED, makeReadable);
makeReadable();
