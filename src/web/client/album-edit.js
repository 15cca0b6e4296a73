// @ts-check
import { createQueue } from './changing.js';
import { copyButton } from './copy.js';
import { announce, ask, button, byId, language, make, say } from './dom.js';
import { recall, TOKEN_KEY } from './kept.js';
import { changeAlbum, findAlbum, removeAlbum, timeOf } from './mine.js';

/**
 * A picture of the album, as the API lists it.
 * @typedef {{ id: string, locked: boolean, filename?: string, raw_url?: string, title?: string | null,
 * max_views?: number | null }} Picture
 */

const actions = byId('album-actions', HTMLElement);
const tools = byId('album-tools', HTMLElement);
const results = byId('results', HTMLElement);
const { album: id = '', api = '', home = '/' } = tools.dataset;
const mine = findAlbum(id);

/** Starts editing. Present only in a browser that has the token of the album. */
const edit = button(say('edit'), 'quiet', () => void open());
if (mine) actions.append(edit);

// A key that is held down clicks 30 times in a second.
tools.addEventListener('keydown', (event) => event.repeat && event.key === 'Enter' && event.preventDefault());

/** One after another, so that the last change wins. */
const inTurn = createQueue();
/** @param {Parameters<typeof sendNow>} change */
const send = (...change) => inTurn(() => sendNow(...change));

/**
 * Sends a change, and shows what went wrong.
 * @param {string} method
 * @param {string} path
 * @param {object} [body]
 */
async function sendNow(method, path, body) {
  const upload = recall(TOKEN_KEY);
  const headers = {
    'content-type': 'application/json',
    'x-album-token': mine?.token ?? '',
    ...(upload && { authorization: `Bearer ${upload}` }),
  };
  const answer = await ask(api + path, {
    method,
    headers,
    keepalive: true,
    ...(body && { body: JSON.stringify(body) }),
  });
  if (method !== 'GET') tell(answer.fault);
  return answer;
}

/**
 * Shows what went wrong, or that all is saved.
 * @param {string | null} fault
 */
function tell(fault) {
  const note = byId('album-note', HTMLElement);
  note.className = fault === null ? 'small muted' : 'fault';
  note.textContent = fault ?? say('saved');
  announce(note.textContent);
}

/** @returns {Promise<{ pictures: Picture[], album: { title?: string, cover?: string }, fault: string | null }>} */
async function readAll() {
  /** @type {Picture[]} */
  const pictures = [];
  for (let next = ''; ; ) {
    const { body, fault } = await ask(`${api}?per_page=100${next}`);
    if (fault !== null) return { pictures, album: {}, fault };
    pictures.push(...body.images);
    if (body.next === null) return { pictures, album: body, fault: null };
    next = `&cursor=${body.next}`;
  }
}

/** @param {readonly (string | undefined)[]} [order] of the pictures, those of nobody last. Default: that of the album */
async function open(order = []) {
  edit.disabled = true;
  const [{ pictures, album, fault }, { body: guests }] = await Promise.all([
    readAll(),
    send('GET', '/invites'),
  ]);
  const { title = '', cover } = album;
  edit.disabled = false;
  actions.querySelector('.fault')?.remove();
  if (fault !== null) return actions.append(make('p', { class: 'fault', role: 'alert' }, fault));
  changeAlbum(id, { title, count: pictures.length });
  const placeOf = (/** @type {Picture} */ one) => order.indexOf(one.id) + 1 || order.length + 1;
  pictures.sort((one, other) => placeOf(one) - placeOf(other));
  const name = make('input', { id: 'album-name', value: title, maxlength: '200', autocomplete: 'off' });
  name.addEventListener('change', () => void rename(name.value.trim()));
  const list = make(
    'ul',
    { class: 'tiles ordering' },
    ...pictures.map((one) => tileOf(one, guests?.images?.includes(one.id))),
  );
  showCover(list, cover);
  moveBy(list, (moved) => {
    announce(say('movedTo', { place: [...list.children].indexOf(moved) + 1, total: list.childElementCount }));
    saveOrder();
  });
  const focused = document.activeElement?.closest('li')?.dataset.id;
  tools.replaceChildren(
    make(
      'form',
      { class: 'album-title', submit: (event) => event.preventDefault() },
      make('label', { for: 'album-name' }, say('title')),
      name,
    ),
    make(
      'div',
      { class: 'actions' },
      make('a', { class: 'button', href: `${home}?album=${id}` }, say('add')),
      button(say('invite'), 'quiet', single(invite)),
      button(say('deleteAlbum'), 'quiet danger', askToDelete),
    ),
    make('ul', { class: 'invites', id: 'invites' }),
    make('p', { class: 'small muted', id: 'album-note' }, say('howToMove')),
    list,
  );
  showInvites(guests?.invites ?? []);
  tools.hidden = false;
  results.hidden = true;
  edit.replaceWith(done);
  const moved = list.querySelector(`[data-id="${focused}"] .grip`);
  (moved instanceof HTMLElement ? moved : name).focus();
}

/**
 * Takes the second half of a double click for no other click.
 * @param {() => Promise<void>} then
 * @returns {EventListener}
 */
function single(then) {
  return (event) => {
    const { detail } = /** @type {MouseEvent} */ (event);
    if (detail < 2) void then();
  };
}

/** Ends editing. The page is loaded again, because only the server renders it. */
const end = () => void inTurn(async () => {}).then(() => location.reload());
const done = button(say('done'), '', end);

/** @param {string} title */
async function rename(title) {
  const { body, fault } = await send('PATCH', '', { title });
  if (fault !== null) return;
  const heading = document.querySelector('h1');
  if (heading) heading.textContent = body.title || say('untitled');
  changeAlbum(id, { title: body.title });
}

/** Deletes the album at the second click: there is no way back, and its pictures may be somebody else's. @param {Event} event */
function askToDelete({ currentTarget }) {
  const sure = button(say('deleteForGood'), 'danger', single(deleteAlbum));
  /** @type {HTMLButtonElement} */ (currentTarget).replaceWith(sure);
  sure.focus();
}

async function deleteAlbum() {
  const { body, fault } = await send('DELETE', '');
  if (fault !== null && body?.code !== 'not_found') return;
  removeAlbum(id);
  location.assign(home);
}

/** A key that is held down moves a picture 30 times in a second, and each change counts as an upload. */
const PAUSE_MS = 1000;
let isMoved = false;

/** Saves the order soon, with what is moved until then. */
function saveOrder() {
  if (isMoved) return;
  isMoved = true;
  void inTurn(() => new Promise((resolve) => setTimeout(resolve, PAUSE_MS)));
  void inTurn(sendOrder);
}

function orderShown() {
  const items = tools.querySelectorAll('.ordering > li');
  return [...items].map((item) => /** @type {HTMLElement} */ (item).dataset.id);
}

async function sendOrder() {
  isMoved = false;
  const images = orderShown();
  const { status } = await sendNow('PATCH', '', { images });
  // Another tab or a guest has added one or taken one out.
  if (status === 400) void open(images).then(() => send('PATCH', '', { images: orderShown() }));
}

/**
 * @param {Picture} picture
 * @param {boolean} isGuests whether a guest has added it, whom its deletion does not need
 */
function tileOf(picture, isGuests) {
  const name = picture.title || picture.filename || say('locked');
  const isShown = !picture.locked && (picture.max_views ?? null) === null;
  const { pathname } = new URL(picture.raw_url ?? '/', location.href);
  const grip = make(
    'button',
    { type: 'button', class: 'grip quiet', 'aria-label': say('moveOf', { name }) },
    isShown
      ? make('img', { loading: 'lazy', src: `${pathname}?w=320`, alt: '', draggable: 'false' })
      : make('span', { class: 'tile-blank' }),
    make('span', { class: 'handle', 'aria-hidden': 'true' }, '⠿'),
  );
  const [label, spoken, query] = isGuests
    ? [say('delete'), say('deleteOf', { name }), '?image=delete']
    : [say('remove'), say('removeOf', { name }), ''];
  const cover = button(say('cover'), 'quiet small', () => void choose(item), say('coverOf', { name }));
  cover.dataset.cover = '';
  const item = make(
    'li',
    { 'data-id': picture.id },
    grip,
    make('span', { class: 'tile-name' }, name),
    make(
      'div',
      { class: 'chips' },
      ...(isShown ? [cover] : []),
      button(label, 'quiet small', () => void remove(item, query), spoken),
    ),
  );
  return item;
}

/** @param {HTMLElement} item */
async function choose(item) {
  const { body, fault } = await send('PATCH', '', { cover: item.dataset.id });
  if (fault === null && item.parentElement) showCover(item.parentElement, body.cover);
}

/**
 * @param {HTMLElement} list
 * @param {string | undefined} cover
 */
function showCover(list, cover) {
  for (const one of list.querySelectorAll('[data-cover]')) {
    one.setAttribute('aria-pressed', String(one.closest('li')?.dataset.id === cover));
  }
}

/**
 * Takes a picture out of the album. It stays online, unless a guest has added it.
 * @param {HTMLElement} item
 * @param {string} query
 */
async function remove(item, query) {
  const { body, fault } = await send('DELETE', `/images/${item.dataset.id}${query}`);
  if (fault !== null && body?.code !== 'not_found') return;
  const next = item.nextElementSibling ?? item.previousElementSibling;
  item.remove();
  (next?.querySelector('button') ?? byId('album-name', HTMLInputElement)).focus();
  changeAlbum(id, { count: tools.querySelectorAll('.ordering > li').length });
}

/** Links for guests that this page has made, by ID. @type {Record<string, string>} */
const made = {};

/** Makes a link for guests, which only this browser keeps. */
async function invite() {
  const { body, fault } = await send('POST', '/invites', {});
  if (fault !== null) return;
  made[body.id] = body.url;
  if (!changeAlbum(id, { invites: linksOfInvites() })) tell(say('inviteNotKept'));
  showInvites((await send('GET', '/invites')).body?.invites ?? []);
  /** @type {HTMLElement | null} */ (tools.querySelector('.invites li:last-child button'))?.focus();
}

function linksOfInvites() {
  return { ...findAlbum(id)?.invites, ...made };
}

/** @param {readonly { id: string, max: number, used: number, expires_at: string }[]} invites */
function showInvites(invites) {
  const links = linksOfInvites();
  const items = invites.map((one) => {
    const url = links[one.id];
    const day = new Intl.DateTimeFormat(language, { dateStyle: 'medium' }).format(timeOf(one.expires_at));
    const revoke = async () => {
      const { body, fault } = await send('DELETE', `/invites/${one.id}`);
      if (fault === null) showInvites(body.invites);
    };
    return make(
      'li',
      {},
      make('span', {}, say('invited', { used: one.used, max: one.max, day })),
      ...(url
        ? [
            copyButton(say('copyInvite'), 'copy-link', url),
            make('a', { class: 'button quiet', href: url }, say('showCode')),
          ]
        : []),
      button(say('revoke'), 'quiet danger', () => void revoke()),
    );
  });
  byId('invites', HTMLElement).replaceChildren(...items);
}

/** How far the arrow keys move an item of a list whose items stand in rows. */
const STEPS = /** @type {Record<string, -1 | 1>} */ ({
  ArrowLeft: -1,
  ArrowUp: -1,
  ArrowRight: 1,
  ArrowDown: 1,
});

/**
 * Lets the items of a list be put in another order: dragged by their `.grip` with a mouse, by its `.handle` with a finger,
 * which could not scroll otherwise, or with the arrow keys.
 * @param {HTMLElement} list
 * @param {(item: Element) => void} onMoved
 */
function moveBy(list, onMoved) {
  list.addEventListener('keydown', (event) => {
    const grip = event.target instanceof Element ? event.target.closest('.grip') : null;
    const item = grip?.closest('li');
    const step = STEPS[event.key];
    if (!(grip instanceof HTMLElement) || !item || step === undefined) return;
    event.preventDefault();
    if (step < 0) item.previousElementSibling?.before(item);
    else item.nextElementSibling?.after(item);
    grip.focus();
    onMoved(item);
  });

  list.addEventListener('pointerdown', (event) => {
    const { target, pointerId, pointerType, button } = event;
    if (!(target instanceof Element) || button !== 0) return;
    const grip = target.closest(pointerType === 'mouse' ? '.grip' : '.handle');
    const item = grip?.closest('li');
    if (!(grip instanceof HTMLElement) || !item) return;
    const before = item.nextElementSibling;
    list.setPointerCapture(pointerId);
    const stop = new AbortController();
    const { signal } = stop;
    const drag = (/** @type {PointerEvent} */ { clientX, clientY }) => {
      item.classList.add('moving-item');
      const under = document.elementFromPoint(clientX, clientY)?.closest('li');
      if (!under || under === item || under.parentElement !== list) return;
      const isBefore = item.compareDocumentPosition(under) & Node.DOCUMENT_POSITION_PRECEDING;
      under[isBefore ? 'before' : 'after'](item);
    };
    const drop = () => {
      stop.abort();
      item.classList.remove('moving-item');
      if (item.nextElementSibling !== before) onMoved(item);
    };
    list.addEventListener('pointermove', drag, { signal });
    list.addEventListener('pointerup', drop, { signal });
    list.addEventListener('pointercancel', drop, { signal });
  });
}
