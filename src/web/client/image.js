// @ts-check
import { readMine, removeMine } from './mine.js';

// Who has uploaded it with this browser may delete it, whatever the address is by now.
const link = document.querySelector('a[data-delete]');
if (link instanceof HTMLAnchorElement) {
  const mine = readMine().find(({ id }) => id === link.dataset.delete);
  if (mine) {
    link.search = new URLSearchParams({ token: mine.delete_token }).toString();
    link.hidden = false;
  }
}

const deleted = document.querySelector('[data-deleted]');
if (deleted instanceof HTMLElement) removeMine(deleted.dataset.deleted ?? '');
