import type { Audit } from '../../audit/audit.ts';
import { AppError, message } from '../../errors.ts';
import type { Clock } from '../../lib/clock.ts';
import { sha256 } from '../../lib/secret.ts';
import { type Deleter, sameHash } from '../access/deletion-rights.ts';
import { ID_PATTERN, type RandomBytes } from '../records/ids.ts';
import type { ImageStore } from '../store.ts';
import { type AlbumRecord, type AlbumStore, MOST_PICTURES, picturesOf } from './album.ts';

/** Credentials for changing an album: its token or the administrator. */
export interface AlbumKeeper extends Pick<Deleter, 'log'> {
  token: string | null;
  admin: boolean;
}

export interface KeptOptions {
  albums: AlbumStore;
  images: Pick<ImageStore, 'existing'>;
  audit: Pick<Audit, 'once'>;
  clock: Pick<Clock, 'sleep'>;
  random: RandomBytes;
}

/** A change that conflicts with others is retried. With each conflict, one of them succeeds. */
const TRIES = 100;
const PAUSE_MS = 2;

/** Stored albums, changed without losing concurrent changes. */
export function createKept({ albums, images, audit, clock, random }: KeptOptions) {
  async function find(id: string): Promise<AlbumRecord> {
    const album = ID_PATTERN.test(id) ? await albums.get(id) : null;
    if (album === null) throw new AppError('not_found', 'There is no such album.');
    return album;
  }

  /** Rejects with `forbidden` if the credentials do not allow changing the album. */
  async function findFor(id: string, by: AlbumKeeper): Promise<AlbumRecord> {
    const album = await find(id);
    if (mayKeep(album, by)) return album;
    throw new AppError('forbidden', 'This needs the token of the album.');
  }

  /** As `findFor`, and does the work. What the administrator does to the album of others is in the audit log. */
  async function act<T>(
    what: string,
    id: string,
    by: AlbumKeeper,
    work: (album: AlbumRecord) => Promise<T>,
  ): Promise<T> {
    const album = await findFor(id, by);
    if (by.log === undefined || mayKeep(album, { ...by, admin: false })) return work(album);
    const { who, peer, why } = by.log;
    return audit.once({ what, subject: `album ${id}`, who, peer, why }, () => work(album));
  }

  /**
   * Changes the stored album. `work` returns `null` if nothing changes. It may find its own change: a store that repeats a
   * write whose answer was lost finds another revision than it was told.
   */
  async function update(
    id: string,
    work: (album: AlbumRecord) => Partial<AlbumRecord> | null | Promise<Partial<AlbumRecord> | null>,
  ): Promise<AlbumRecord> {
    for (let tries = 1; tries <= TRIES; tries++) {
      const album = await find(id);
      const change = await work(album);
      if (change === null) return album;
      const changed = { ...album, ...change, revision: album.revision + 1 };
      if (await albums.replace(changed)) return changed;
      const [chance = 0] = random(1);
      await clock.sleep((chance / 255) * PAUSE_MS * Math.min(tries, 10));
    }
    throw new AppError('busy', 'Too many requests are changing this album at once.', { retryAfterMs: 1000 });
  }

  /** Returns the pictures of an album, without those that no longer exist if it would be too large with so many more. */
  async function presentIn(album: AlbumRecord, more: number): Promise<string[]> {
    const present = picturesOf(album);
    if (present.length + more <= MOST_PICTURES) return present;
    const living = await images.existing(present);
    return present.filter((id) => living.has(id));
  }

  async function extended(album: AlbumRecord, added: readonly string[]): Promise<string[]> {
    const all = new Set([...(await presentIn(album, added.length)), ...added]);
    if (all.size <= MOST_PICTURES) return [...all];
    const most = MOST_PICTURES.toLocaleString('en-US');
    throw new AppError(
      'conflict',
      message('An album has at most {most} pictures; make another one.', { most }),
    );
  }

  return { find, findFor, act, update, presentIn, extended };
}

/** Reports whether the credentials allow changing the album. */
export function mayKeep({ tokenHash }: AlbumRecord, { token, admin }: AlbumKeeper): boolean {
  return admin || (token !== null && sameHash(sha256(token), tokenHash));
}
