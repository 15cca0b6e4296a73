import type { Tokens } from '../access/tokens.ts';
import type { Audit } from '../audit/audit.ts';
import { AppError, inEnglish, invalidParameter } from '../errors.ts';
import type { Route } from '../http/route.ts';
import { addressOf, uploadTokenOf } from '../image/access/deletion-rights.ts';
import type { Albums } from '../image/albums/albums.ts';
import type { ImageRecord } from '../image/image.ts';
import { SUBJECT } from '../image/owner-actions.ts';
import { THUMBNAIL_WIDTHS } from '../image/records/blob-keys.ts';
import { formatAccessCursor, parseAccessCursor } from '../image/records/cursor.ts';
import { ID_PATTERN } from '../image/records/ids.ts';
import type { LookIndex } from '../image/records/look-index.ts';
import { ignoreGone } from '../image/records/missing.ts';
import type { Reviews } from '../image/review/reviews.ts';
import { privateFile } from '../image/serve/serve.ts';
import type { ImageService } from '../image/service.ts';
import { createNetworkList, sharedNetworks } from '../lib/address.ts';
import { readableBytes } from '../lib/format.ts';
import { breathe } from '../lib/schedule.ts';
import { type Html, html } from '../web/html.ts';
import {
  type createDesk,
  formField,
  reasonField,
  reasonOf,
  statementOf,
  type Visit,
  verdictButton,
} from './desk.ts';

export interface PictureDesk {
  desk: ReturnType<typeof createDesk>;
  service: Pick<ImageService, 'recent' | 'find' | 'remove' | 'version' | 'read'>;
  reviews: Pick<Reviews, 'file' | 'find' | 'list'>;
  looks: LookIndex;
  audit: Pick<Audit, 'act'>;
  tokens: Pick<Tokens, 'list'>;
  /** Path of the image host, and of `/admin`. */
  basePath: string;
  home: string;
  albums: Pick<Albums, 'find' | 'remove'>;
}

/** What the image host lets moderators see. */
export type ModeratedPictures = Omit<PictureDesk, 'desk' | 'home' | 'audit' | 'tokens'>;

const PER_PAGE = 60;
/** How many of the latest pictures are looked through for those of a network, and how many are acted on at once. */
const MOST_SEARCHED = 20_000;
const MOST_ACTED = 200;
const BATCH = 1000;
const SHOWN_WIDTH = THUMBNAIL_WIDTHS[1];
const BLOCKS = ['none', 'address', 'network', 'file', 'look'] as const;
type Block = (typeof BLOCKS)[number];
/** Subject of a block. */
const TARGET = /^(network [\da-f.:/]{2,43}|hash [\da-f]{64}|phash [\da-f]{16})$/;

/** The newest pictures, by uploader and look, with deletion and blocks of several at once. */
export function pictureRoutes(at: PictureDesk): Route[] {
  const { desk } = at;
  return [
    desk.page('', (visit) => showPictures(at, visit)),
    desk.page('/picture/:id', (visit) => showFile(at, visit)),
    desk.act('/preview', (visit, body) => preview(at, visit, body)),
    desk.act('/act', (visit, body) => act(at, visit, body)),
  ];
}

const networkOf = (image: ImageRecord) => sharedNetworks(addressOf(image))[0] ?? addressOf(image);

async function showPictures(at: PictureDesk, visit: Visit) {
  const query = new URL(visit.request.url).searchParams;
  const [from, token, near, after] = ['from', 'token', 'near', 'after'].map(
    (name) => query.get(name)?.trim() || null,
  );
  const { admin } = visit.site.words;
  const found = await search();
  async function search() {
    if (from) {
      const wanted = networkList(from);
      return { items: await latestOf(at, (image) => wanted.has(addressOf(image))), next: null };
    }
    if (token) return { items: await latestOf(at, (image) => uploadTokenOf(image) === token), next: null };
    if (near) {
      const alike = await at.looks.alike(await at.service.find(near), PER_PAGE);
      return { items: alike.map(({ image }) => image), next: null };
    }
    return at.service.recent({
      page: 1,
      perPage: PER_PAGE,
      ...(after && { after: parseAccessCursor(after) }),
    });
  }
  const done = Number(query.get('done') ?? Number.NaN);
  const content = html`${done >= 0 && html`<p class="banner good" role="status">${admin.done(done)}</p>`}
<form class="admin-find" method="get" action="${at.home}"><label for="from">${admin.from}</label><input id="from" name="from" value="${from ?? ''}" placeholder="192.0.2.0/24"><button class="quiet">${admin.find}</button></form>
${found.items.length === 0 ? html`<p class="empty">${admin.nothing}</p>` : await grid(at, visit, found.items, (from ?? token ?? near) !== null)}
${found.next && html`<p><a class="button quiet" rel="next" href="${at.home}?after=${encodeURIComponent(formatAccessCursor(found.next))}">${visit.site.words.frame.next}</a></p>`}`;
  return { title: admin.places.pictures, content };
}

/** Returns the latest pictures, batch by batch. */
async function* latest({ service }: PictureDesk): AsyncIterable<ImageRecord[]> {
  let after: Awaited<ReturnType<ImageService['recent']>>['next'] = null;
  for (let seen = 0; seen < MOST_SEARCHED; seen += BATCH) {
    const page = await service.recent({ page: 1, perPage: BATCH, ...(after && { after }) });
    yield page.items;
    after = page.next;
    if (after === null) return;
  }
}

/** Returns the latest of some, as many as can be acted on at once. */
async function latestOf(at: PictureDesk, some: (image: ImageRecord) => boolean): Promise<ImageRecord[]> {
  const found: ImageRecord[] = [];
  for await (const images of latest(at)) {
    found.push(...images.filter(some));
    if (found.length >= MOST_ACTED) break;
  }
  return found.slice(0, MOST_ACTED);
}

/** Reports whether a block of the subject would hit the address. */
function hits(subject: string, address: string): boolean {
  const [, network] = /^network (.+)$/.exec(subject) ?? [];
  return network !== undefined && networkList(network).has(address);
}

function networkList(network: string) {
  try {
    return createNetworkList([network]);
  } catch (error) {
    throw invalidParameter('from', inEnglish((error as Error).message));
  }
}

/** The pictures with a box each; `chosen`: all are ticked at first. */
async function grid(
  { home, tokens }: PictureDesk,
  { site, session }: Visit,
  images: readonly ImageRecord[],
  chosen: boolean,
): Promise<Html> {
  const { admin } = site.words;
  const names = new Map((await tokens.list()).map(({ id, name }) => [id, name]));
  const tile = (image: ImageRecord) => {
    const [address, network] = [addressOf(image), networkOf(image)];
    const token = uploadTokenOf(image);
    const from = (text: string) => html`<a href="${home}?from=${encodeURIComponent(text)}">${text}</a>`;
    return html`<li><label><input type="checkbox" name="id" value="${image.id}"${chosen && html` checked`}> <span class="wrap">${image.filename}</span></label>
<a href="${home}/picture/${image.id}"><img src="${home}/picture/${image.id}?w=${SHOWN_WIDTH}" alt="${image.filename}" loading="lazy" width="${image.width}" height="${image.height}"></a>
<span class="small muted">${image.width} × ${image.height}, ${readableBytes(image.size)}, ${site.formats.dateTime(image.createdAt)}</span>
<span class="small">${from(address)} ${network !== address && from(network)} ${token !== null && html`<a href="${home}?token=${token}">${names.get(token) ?? token}</a> `}${image.phash !== null && html`<a href="${home}?near=${image.id}">${admin.alike}</a>`}</span></li>
`;
  };
  return html`<form method="post" action="${home}/preview">${formField(session)}
<ul class="admin-grid">${images.map(tile)}</ul>
<p class="actions admin-acts">${BLOCKS.map((block) => html`<button class="${block === 'none' ? 'danger' : 'quiet danger'}" name="block" value="${block}">${admin.acts[block]}</button> `)}</p></form>`;
}

/** What a form asks for: pictures, and what to block besides. */
async function chosen({ service }: PictureDesk, body: URLSearchParams) {
  const ids = [...new Set(body.getAll('id'))].filter((id) => ID_PATTERN.test(id)).slice(0, MOST_ACTED);
  const block = BLOCKS.find((one) => one === body.get('block')) ?? 'none';
  const found = await Promise.all(ids.map((id) => service.find(id).catch(ignoreGone)));
  const images = found.filter((image) => image !== null);
  // Of what somebody else has deleted since the preview, that says what is blocked.
  const previewed = ids.map((id) => body.get(`target ${id}`) ?? '').filter((one) => TARGET.test(one));
  return { images, block, targets: [...new Set([...previewed, ...targetsOf(images, block)])] };
}

type Chosen = Awaited<ReturnType<typeof chosen>>;

/** Returns the subjects of the blocks, as the audit log names them. */
function targetsOf(images: readonly ImageRecord[], block: Block): string[] {
  const of: Record<Block, (image: ImageRecord) => string | null> = {
    none: () => null,
    address: (image) => `network ${addressOf(image)}`,
    network: (image) => `network ${networkOf(image)}`,
    file: ({ hash }) => `hash ${hash}`,
    look: ({ phash }) => phash && `phash ${phash}`,
  };
  return [...new Set(images.map(of[block]))].filter((target) => target !== null);
}

/** Counts how many stored pictures each block would have kept out. */
async function hitBy(at: PictureDesk, { block, targets }: Pick<Chosen, 'block' | 'targets'>) {
  const counts = new Map(targets.map((target) => [target, 0]));
  if (block === 'look') {
    for (const target of targets) {
      counts.set(target, await at.looks.count(target.replace('phash ', '')));
      await breathe();
    }
  } else if (block !== 'none') {
    for await (const batch of latest(at)) {
      for (const image of batch) {
        const [target = ''] = targetsOf([image], block);
        const count = counts.get(target);
        if (count !== undefined) counts.set(target, count + 1);
      }
    }
  }
  return counts;
}

/** Shows what would be deleted and blocked, and what else the blocks hit that is stored. */
async function preview(at: PictureDesk, { site, session, context }: Visit, body: URLSearchParams) {
  const { images, block, targets } = await chosen(at, body);
  const { admin } = site.words;
  const hit = await hitBy(at, { block, targets });
  const content = html`<p>${admin.hits(images.length)}</p>
<form class="stack" method="post" action="${at.home}/act">${formField(session)}<input type="hidden" name="block" value="${block}">
<ul class="admin-grid small">${images.map((image) => html`<li><label><input type="checkbox" name="id" value="${image.id}" checked> ${image.id}</label>${targetsOf([image], block).map((target) => html`<input type="hidden" name="target ${image.id}" value="${target}">`)}<img src="${at.home}/picture/${image.id}?w=160" alt="" loading="lazy"></li>`)}</ul>
${targets.length > 0 && html`<h2>${admin.blocked}</h2><ul>${targets.map((target) => html`<li><code class="wrap">${target}</code> ${admin.matches(hit.get(target) ?? 0)}</li>`)}</ul>`}
${targets.some((target) => hits(target, context.peer)) && html`<p class="fault">${admin.ownAddress}</p>`}
${reasonField(site)}
<p class="actions"><button class="danger"${images.length === 0 && html` disabled`}>${admin.acts[block]}</button><a class="button quiet" href="${at.home}">${admin.cancel}</a></p></form>`;
  return { title: admin.preview, content };
}

async function act(at: PictureDesk, visit: Visit, body: URLSearchParams): Promise<string> {
  const { images, targets } = await chosen(at, body);
  const { by, context } = visit;
  const why = reasonOf(body);
  if (targets.some((subject) => hits(subject, context.peer)))
    throw new AppError('conflict', 'This would block your own address.');
  // First, so that no more arrives meanwhile.
  for (const subject of targets) await at.audit.act({ what: 'block.add', subject, ...by, why });
  const log = { ...by, why, statement: statementOf(body, visit.site) };
  let done = 0;
  for (const { id } of images) {
    await at.service.remove(id, { peer: null, token: null, admin: true, log }).then(() => done++, ignoreGone);
  }
  return `?done=${done}`;
}

/** Sends any picture, also a protected one and one in review, without counting a view. */
async function showFile({ service, reviews }: PictureDesk, { request, params, context }: Visit) {
  const { id = '' } = params as { id?: string };
  const held = await reviews.find(id);
  const { image, body } = held === null ? await storedFile() : await reviews.file(id);
  async function storedFile() {
    const image = await service.find(id);
    const asked = new URL(request.url).searchParams.get('w');
    // Of pictures that end with a view, no other version may exist.
    const width = THUMBNAIL_WIDTHS.find(
      (one) => `${one}` === asked && one < image.width && image.maxViews === null,
    );
    const version = await service.version(
      image,
      { width: width ?? null, format: image.format },
      context.payer,
    );
    return { image: { ...image, format: version.format }, body: await service.read(image, version) };
  }
  return privateFile(image, body);
}

/** The queue of pictures in review, one at a time, each decided with one key. */
export function queueRoutes({ desk, ...at }: PictureDesk): Route[] {
  return [
    desk.page('/reviews', (visit) => show(at, visit)),
    desk.act('/reviews', async (visit, body) => {
      const verdict = (['allow', 'block'] as const).find((one) => one === body.get('verdict'));
      const id = body.get('id') ?? '';
      if (verdict === undefined || !ID_PATTERN.test(id)) return '/reviews';
      const tokenHash = (await at.reviews.find(id))?.deleteTokenHash;
      const details = { statement: statementOf(body, visit.site), tokenHash };
      const refused = { why: reasonOf(body), details };
      const what = `review.${verdict}`;
      const act = { what, subject: SUBJECT + id, ...visit.by, ...(verdict === 'block' && refused) };
      // Somebody else has decided, unless it is still there. That all see what was to be blocked is a conflict.
      await at.audit.act(act).catch(async (error: unknown) => {
        if ((await at.reviews.find(id)) !== null) throw error;
        return ignoreGone(error);
      });
      return '/reviews';
    }),
  ];
}

async function show({ reviews, home }: Omit<PictureDesk, 'desk'>, { site, session }: Visit) {
  const { admin } = site.words;
  const title = admin.places.reviews;
  const held = await reviews.list();
  const [image] = held;
  if (image === undefined) return { title, content: html`<p class="empty">${admin.nothing}</p>` };
  const content = html`<p class="muted">${admin.waiting(held.length)}</p>
<form method="post" action="${home}/reviews">${formField(session)}<input type="hidden" name="id" value="${image.id}">
<p class="actions">${verdictButton('allow', admin.verdicts.allow, false)}${verdictButton('block', admin.verdicts.block, true)}</p>
<figure class="admin-review"><img src="${home}/picture/${image.id}" alt="" width="${image.width}" height="${image.height}"></figure>
<p class="small"><span class="wrap">${image.filename}</span>, ${image.width} × ${image.height}, ${readableBytes(image.size)}, ${image.uploader}, ${site.formats.dateTime(image.createdAt)}</p>
<details><summary>${admin.reason}</summary>${reasonField(site)}</details></form>`;
  return { title, content };
}
