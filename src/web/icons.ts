import { type Html, html } from './html.ts';

/** Outlines on a 24 by 24 grid. */
const PATHS = {
  upload: ['M12 16V4', 'M7 9l5-5 5 5', 'M4 15v4a1 1 0 0 0 1 1h14a1 1 0 0 0 1-1v-4'],
  download: ['M12 4v12', 'M7 11l5 5 5-5', 'M4 20h16'],
  copy: ['M9 9h11v11H9z', 'M5 15H4V4h11v1'],
  search: ['M11 4a7 7 0 1 0 0 14 7 7 0 0 0 0-14z', 'M16.5 16.5L21 21'],
  lock: ['M6 11h12v9H6z', 'M8.5 11V8a3.5 3.5 0 0 1 7 0v3'],
  trash: ['M4 7h16', 'M9 7V4h6v3', 'M6 7l1 13h10l1-13'],
  refresh: ['M20 11a8 8 0 0 0-14.3-4L4 9', 'M4 4v5h5', 'M4 13a8 8 0 0 0 14.3 4L20 15', 'M20 20v-5h-5'],
  options: ['M4 7h9', 'M17 7h3', 'M15 5v4', 'M4 17h3', 'M11 17h9', 'M9 15v4'],
  check: ['M5 12.5l4.5 4.5L19 7.5'],
  warning: ['M12 4L2.5 20h19z', 'M12 10v4.5', 'M12 17.4v.2'],
  picture: ['M4 5h16v14H4z', 'M4 16l5-5 4 4 2.5-2.5L20 17', 'M15.5 9.2v.1'],
  globe: ['M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18z', 'M3 12h18', 'M12 3c3 3 3 15 0 18', 'M12 3c-3 3-3 15 0 18'],
  play: ['M7 5l12 7-12 7z'],
  share: ['M12 15V4', 'M8 7.5L12 3.5l4 4', 'M6 11H5v9h14v-9h-1'],
  close: ['M6 6l12 12', 'M18 6L6 18'],
} as const;

type IconName = keyof typeof PATHS;

/** Returns an icon that screen readers ignore, because there is always a text beside it. */
export function icon(name: IconName): Html {
  const paths = PATHS[name].map((path) => html`<path d="${path}"/>`);
  return html`<svg class="icon" viewBox="0 0 24 24" aria-hidden="true" focusable="false">${paths}</svg>`;
}

/** The logo: a picture in a pool. */
export const logo = html`<svg class="logo" viewBox="0 0 32 32" aria-hidden="true" focusable="false"><rect width="32" height="32" rx="8"/><circle cx="21.5" cy="10.5" r="3.5"/><path d="M5 17c2.2 0 2.2 2 4.4 2s2.2-2 4.4-2 2.2 2 4.4 2 2.2-2 4.4-2 2.2 2 4.4 2"/><path d="M5 23c2.2 0 2.2 2 4.4 2s2.2-2 4.4-2 2.2 2 4.4 2 2.2-2 4.4-2 2.2 2 4.4 2"/></svg>`;
