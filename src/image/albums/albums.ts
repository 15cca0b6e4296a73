import { AppError, inEnglish, invalidParameter, type Said } from '../../errors.ts';
import type { Clock } from '../../lib/clock.ts';
import { forEachBounded } from '../../lib/for-each-bounded.ts';
import type { Log } from '../../lib/logger.ts';
import { sha256 } from '../../lib/secret.ts';
import type { Deleter } from '../access/deletion-rights.ts';
import type { ImageRecord } from '../image.ts';
import { type AudienceRules, isOver } from '../records/audience.ts';
import { createDeleteToken, createId } from '../records/ids.ts';
import { ignoreGone } from '../records/missing.ts';
import type { ImageService } from '../service.ts';
import type { ImageStore } from '../store.ts';
import { type AlbumRecord, picturesOf } from './album.ts';
import { createInvites, guestsIn, type Invites, type InvitesOptions } from './invites.ts';
import { type AlbumKeeper, createKept, type KeptOptions, mayKeep } from './kept.ts';
import { type Addition, type AlbumChangeWish, type AlbumWish, factsOf } from './wishes.ts';

/**
 * Pictures under one link. An album does not own its pictures: each keeps its visibility, password, views and expiry.
 */
export interface Albums {
  /**
   * Creates an album, with pictures that were uploaded earlier if there are any. Only the caller learns the token; the
   * server stores its hash. Rejects with `invalid_parameter`, and as `add` does.
   */
  create(wish: AlbumWish, admin: boolean): Promise<{ album: AlbumRecord; token: string }>;
  /** Rejects with `not_found`. */
  find(id: string): Promise<AlbumRecord>;
  /** Returns the pictures that still exist, in order, whatever their visibility. */
  pictures(album: AlbumRecord): Promise<ImageRecord[]>;
  /** Rejects with `not_found`, `forbidden`, or `conflict` if the album is full. */
  demandRoom(id: string, by: AlbumKeeper): Promise<void>;
  /**
   * Appends the caller's own pictures to an album. Pictures already in it stay where they are. Rejects with `not_found`,
   * `forbidden` or `conflict`.
   */
  append(id: string, pictures: readonly string[], by: AlbumKeeper): Promise<AlbumRecord>;
  /** Appends pictures that were uploaded earlier, each authorised by its own token. Also rejects with `forbidden`. */
  add(id: string, additions: readonly Addition[], by: AlbumKeeper): Promise<AlbumRecord>;
  /**
   * Takes a picture out of the album; the picture's own token is sufficient. Does not delete it, unless `deletes`, which
   * needs the rights of the album and a picture that came by an invitation. Rejects with `not_found` or `forbidden`.
   */
  takeOut(
    id: string,
    picture: string,
    by: AlbumKeeper & { deleteToken: string | null; deletes?: boolean },
  ): Promise<AlbumRecord>;
  /** Rejects with `not_found`, `forbidden` or `invalid_parameter`. */
  change(id: string, wish: AlbumChangeWish, by: AlbumKeeper): Promise<AlbumRecord>;
  /**
   * Removes the album, and those of its pictures that the deleter may delete or that came by invitations; none without
   * a deleter. Rejects with `not_found` or `forbidden`.
   */
  remove(id: string, by: AlbumKeeper, deleter: Deleter | null): Promise<RemovedPictures>;
  /** What guests may do. */
  readonly invites: Invites;
  /**
   * Removes albums that have had no picture for `retentionMs`, at the latest after twice that time. Returns how many.
   * `idleBefore`: the time, ms since 1970, since which the server has served for `retentionMs`.
   */
  sweep(signal: AbortSignal, idleBefore: number): Promise<number>;
}

/** What happened to the pictures of a removed album. */
interface RemovedPictures {
  removed: number;
  /** IDs of the pictures that remain. */
  kept: string[];
}

interface AlbumsOptions
  extends Pick<KeptOptions, 'albums' | 'audit'>,
    Pick<InvitesOptions, 'retentionMs' | 'random'> {
  images: Pick<ImageStore, 'getMany' | 'existing'>;
  service: Pick<ImageService, 'find' | 'mayRemove' | 'remove'>;
  rules: AudienceRules;
  /** See `createInvites`. Default: everyone may. */
  mayInvite?: (by: string) => Promise<boolean>;
  clock: Pick<Clock, 'now' | 'sleep'>;
  log: Log;
}

/** Who deletes pictures that the caller may delete. The holder of the token of an album need not be their uploader. */
const asKeeper = (id: string, log: Deleter['log']): Deleter => ({
  ...{ peer: null, token: null, admin: true },
  log: log && { ...log, who: log.who === 'uploader' ? `album ${id}` : log.who },
});
/** Placeholder for a picture without an ID yet. */
const NEXT = '';
/** Number of pictures that are checked or removed concurrently. */
const AT_ONCE = 8;

export function createAlbums(options: AlbumsOptions): Albums {
  const { albums, images, service, rules, retentionMs, clock, random, log } = options;
  const kept = createKept(options);
  const { find, findFor, act, update, extended } = kept;

  async function pictures(album: AlbumRecord): Promise<ImageRecord[]> {
    const ids = picturesOf(album);
    const found = await images.getMany(ids);
    const now = clock.now();
    return ids.flatMap((id) => found.get(id) ?? []).filter((image) => !isOver(image, now));
  }

  const append = (
    id: string,
    pictures: readonly string[],
    by: AlbumKeeper,
    demandRight = async (): Promise<void> => {},
  ) =>
    act('album.change', id, by, async () => {
      await demandRight();
      return update(id, async (album) => {
        const next = (await extended(album, pictures)).join(' ');
        if (next === album.pictures) return null;
        return { pictures: next, empty: 0, dueAt: clock.now() + retentionMs };
      });
    });

  return {
    find,
    sweep: createSweep(options),
    invites: createInvites({ mayInvite: async () => true, ...options, kept }),

    async create({ images = [], ...wish }, admin) {
      await authorise(service, images, admin);
      const ids = [...new Set(images.map(({ id }) => id))];
      const token = createDeleteToken(random);
      const album = newAlbum(options, sha256(token), { ids, wish });
      await albums.insert(album);
      log('info', 'album created', { id: album.id });
      return { album, token };
    },

    pictures,
    append,

    async demandRoom(id, by) {
      const album = await findFor(id, by);
      await extended(album, [NEXT]);
    },

    add: (id, additions, by) =>
      append(
        id,
        additions.map((addition) => addition.id),
        by,
        () => authorise(service, additions, by.admin),
      ),

    async takeOut(id, picture, { deleteToken, deletes, ...by }) {
      const album = await find(id);
      if (!picturesOf(album).includes(picture)) {
        throw new AppError('not_found', 'There is no such image in this album.');
      }
      // The picture may no longer exist, so it is read only for its own token.
      const isUploader = async () =>
        deleteToken !== null &&
        service.mayRemove(await service.find(picture), { peer: null, token: deleteToken, admin: false });
      const takeOut = () =>
        update(id, (album) => ({
          pictures: picturesOf(album)
            .filter((one) => one !== picture)
            .join(' '),
        }));
      if (!deletes && !mayKeep(album, by) && (await isUploader())) return takeOut();
      return act('album.change', id, by, async () => {
        if (deletes) {
          if (!guestsIn(album).includes(picture))
            throw new AppError('forbidden', 'No guest has added this image.');
          await removePictures(service, [picture], asKeeper(id, by.log));
        }
        return takeOut();
      });
    },

    async change(id, wish, by) {
      const facts = factsOf(wish, rules);
      return act('album.change', id, by, () =>
        update(id, (album) => ({
          ...facts,
          ...(wish.cover !== undefined && { cover: coverIn(album, wish.cover) }),
          ...(wish.images && { pictures: reordered(picturesOf(album), wish.images).join(' ') }),
        })),
      );
    },

    remove: (id, by, deleter) =>
      act('album.delete', id, by, (album) => removeAll(album, { ...options, pictures }, { ...by, deleter })),
  };
}

/** The pictures first: if one of them cannot be removed, the caller can try again. */
async function removeAll(
  found: AlbumRecord,
  { albums, service, log, pictures }: AlbumsOptions & Pick<Albums, 'pictures'>,
  by: Pick<AlbumKeeper, 'log'> & { deleter: Deleter | null },
): Promise<RemovedPictures> {
  const { id } = found;
  const { deleter } = by;
  let album: AlbumRecord | null = found;
  let removed = 0;
  let kept: string[] = [];
  while (album !== null) {
    const alive = await pictures(album);
    // Those of guests also while they wait for review.
    const mine = new Set(deleter === null ? [] : guestsIn(album));
    for (const image of alive) if (deleter && service.mayRemove(image, deleter)) mine.add(image.id);
    removed += await removePictures(service, [...mine], asKeeper(id, by.log));
    kept = alive.flatMap((image) => (mine.has(image.id) ? [] : [image.id]));
    // A guest may have added more meanwhile.
    album = (await albums.remove(id, album.revision)) ? null : await albums.get(id);
  }
  log('info', 'album removed', { id, pictures: removed });
  return { removed, kept };
}

/** @throws {AppError} `invalid_parameter` for a title or a visibility. */
function newAlbum(
  { random, clock, rules, retentionMs }: AlbumsOptions,
  tokenHash: string,
  { ids, wish }: { ids: readonly string[]; wish: AlbumWish },
): AlbumRecord {
  return {
    id: createId(random),
    revision: 1,
    title: '',
    unlisted: rules.listing === 'public' ? 0 : 1,
    tokenHash,
    createdAt: clock.now(),
    empty: ids.length === 0 ? 1 : 0,
    dueAt: clock.now() + retentionMs,
    pictures: ids.join(' '),
    cover: '',
    guests: '',
    ...factsOf(wish, rules),
  };
}

/** Rejects with `forbidden` or `not_found`, with the place of the picture, unless each token deletes its picture. */
async function authorise(
  service: Pick<ImageService, 'find' | 'mayRemove'>,
  additions: readonly Addition[],
  admin: boolean,
): Promise<void> {
  await forEachBounded(additions.entries(), AT_ONCE, async ([index, { id, delete_token: token }]) => {
    const refusal = (code: 'forbidden' | 'not_found', field: string, said: Said, why: Said) =>
      new AppError(code, said, { details: [{ field: `images[${index}].${field}`, message: why }] });
    const image = await service.find(id).catch((error: unknown) => {
      if (!(error instanceof AppError) || error.code !== 'not_found') throw error;
      throw refusal('not_found', 'id', inEnglish(`There is no image ${id}.`), inEnglish('does not exist'));
    });
    if (service.mayRemove(image, { peer: null, token, admin })) return;
    const wrong = inEnglish('is not the delete token of this image');
    throw refusal('forbidden', 'delete_token', inEnglish(`The delete token of image ${id} is wrong.`), wrong);
  });
}

async function removePictures(
  service: Pick<ImageService, 'remove'>,
  pictures: readonly string[],
  by: Deleter,
): Promise<number> {
  let removed = 0;
  await forEachBounded(pictures, AT_ONCE, async (picture) => {
    // A picture that no longer exists counts as deleted.
    await service.remove(picture, by).then(() => removed++, ignoreGone);
  });
  return removed;
}

function coverIn(album: AlbumRecord, wanted: string | null): string {
  if (wanted !== null) demandIn(picturesOf(album), wanted, 'cover');
  return wanted ?? '';
}

function demandIn(present: readonly string[], id: string, field: string): void {
  if (present.includes(id)) return;
  throw invalidParameter(field, inEnglish(`Image ${id} is not in this album.`));
}

/** Puts the named pictures first, in that order. */
function reordered(present: readonly string[], wanted: readonly string[]): string[] {
  for (const id of wanted) demandIn(present, id, 'images');
  return [...new Set([...wanted, ...present])];
}

const SWEPT_AT_ONCE = 20;

/** Creates a function that removes albums without pictures and returns how many; see `Albums.sweep`. */
function createSweep({ albums, images, retentionMs, clock, log }: AlbumsOptions): Albums['sweep'] {
  async function sweepOne(album: AlbumRecord): Promise<boolean> {
    const alive = (await images.existing(picturesOf(album))).size > 0;
    if (!alive && album.empty === 1) return albums.remove(album.id, album.revision);
    const dueAt = clock.now() + retentionMs;
    await albums.replace({ ...album, empty: alive ? 0 : 1, dueAt, revision: album.revision + 1 });
    return false;
  }

  return async (signal, idleBefore) => {
    let removed = 0;
    while (!signal.aborted) {
      const due = await albums.dueBy(idleBefore + retentionMs, SWEPT_AT_ONCE);
      for (const album of due) {
        if (signal.aborted) return removed;
        if (await sweepOne(album)) removed++;
      }
      if (due.length < SWEPT_AT_ONCE) break;
    }
    if (removed > 0) log('info', 'albums without pictures removed', { removed });
    return removed;
  };
}
