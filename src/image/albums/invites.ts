import { AppError, inEnglish, invalidParameter } from '../../errors.ts';
import { BoundedMap } from '../../lib/bounded-map.ts';
import type { Clock } from '../../lib/clock.ts';
import { EXPIRY_FORM, parseExpiry } from '../../lib/expiry.ts';
import { sha256 } from '../../lib/secret.ts';
import { sameHash } from '../access/deletion-rights.ts';
import { createDeleteToken, createId, type RandomBytes } from '../records/ids.ts';
import { type AlbumRecord, MOST_PICTURES, picturesOf } from './album.ts';
import type { AlbumKeeper, createKept } from './kept.ts';
import type { InviteWish } from './wishes.ts';

/** An invitation: its key adds pictures to the album, and allows nothing else. */
export interface Invite {
  /** Names it to the keeper of the album. */
  id: string;
  /** SHA-256 of its key in hexadecimal. */
  hash: string;
  /** How many pictures it allows, and how many came by it. One that is deleted later counts as well. */
  max: number;
  used: number;
  /** Ms since 1970. */
  expiresAt: number;
  /** What allowed its maker to upload; see `Invites.open`. */
  by: string;
}

/** Invitations of an album that have not expired, and the pictures in it that came by any. */
interface Guests {
  invites: Invite[];
  /** Those that have expired, which stay while there is room: the clock may be ahead. */
  lapsed: Invite[];
  pictures: string[];
}

/** Maximum number of invitations of an album at a time. */
export const MOST_INVITES = 20;
/** Maximum life of an invitation. */
const MOST_MS = 366 * 86_400_000;
const MAX_TAKEN_BACK = 10_000;

/** Returns the pictures of an album that came by invitations. */
export const guestsIn = (album: AlbumRecord): string[] => read(album, 0).pictures;

function read(album: Pick<AlbumRecord, 'guests' | 'pictures'>, now: number): Guests {
  if (album.guests === '') return { invites: [], lapsed: [], pictures: [] };
  const { invites, pictures }: Omit<Guests, 'lapsed'> = JSON.parse(album.guests);
  const present = new Set(picturesOf(album));
  return {
    invites: invites.filter(({ expiresAt }) => expiresAt > now),
    lapsed: invites.filter(({ expiresAt }) => expiresAt <= now),
    pictures: pictures.filter((id) => present.has(id)),
  };
}

export interface InvitesOptions {
  kept: ReturnType<typeof createKept>;
  /** Whether what allowed the maker of an invitation to upload still does. */
  mayInvite: (by: string) => Promise<boolean>;
  retentionMs: number;
  clock: Pick<Clock, 'now'>;
  random: RandomBytes;
}

export function createInvites(options: InvitesOptions) {
  const { kept, mayInvite, retentionMs, clock, random } = options;
  const { find, findFor, act, update, presentIn } = kept;
  /** Pictures, and the hash of their invitation. The store may have added them without an answer, and then be away. */
  const takenBack = new BoundedMap<string, string>(MAX_TAKEN_BACK);

  function guestsOf(album: AlbumRecord): Guests {
    const { invites, lapsed, pictures } = read(album, clock.now());
    for (const one of pictures) {
      const invite = invites.find(({ hash }) => hash === takenBack.get(one));
      if (invite) invite.used--;
    }
    return { invites, lapsed, pictures: pictures.filter((one) => !takenBack.has(one)) };
  }

  /** Returns the invitation of the key among those of the album. */
  async function inviteIn({ invites }: Guests, key: string): Promise<Invite> {
    const hash = sha256(key);
    const invite = invites.find((one) => sameHash(one.hash, hash));
    if (invite !== undefined && (await mayInvite(invite.by))) return invite;
    throw new AppError('forbidden', 'This invitation is not valid. It may have expired, or was revoked.');
  }

  const withGuests = ({ invites, lapsed, pictures }: Guests, present: readonly string[]) => ({
    pictures: present.join(' '),
    guests: JSON.stringify({ invites: [...lapsed, ...invites].slice(-MOST_INVITES), pictures }),
  });

  const roomIn = ({ max, used }: Invite, { length }: readonly string[]) =>
    Math.max(0, Math.min(max - used, MOST_PICTURES - length));

  return {
    /**
     * Returns what a key opens, and how many more pictures it allows. Rejects with `forbidden` if it is wrong, expired
     * or revoked, or if its maker may no longer upload.
     */
    async open(id: string, key: string): Promise<{ album: AlbumRecord; invite: Invite; room: number }> {
      const album = await find(id);
      const invite = await inviteIn(guestsOf(album), key);
      return { album, invite, room: roomIn(invite, await presentIn(album, 1)) };
    },

    /**
     * Adds pictures, each of which counts once, to the album: as many as there is room for, which it returns. Rejects
     * as `open` does, and with `conflict` if there is no room.
     */
    async enter(id: string, key: string, pictures: readonly string[]): Promise<string[]> {
      let added: string[] = [];
      await update(id, async (album) => {
        const guests = guestsOf(album);
        const invite = await inviteIn(guests, key);
        const present = await presentIn(album, pictures.length);
        const known = pictures.filter((one) => guests.pictures.includes(one));
        const fresh = pictures.filter((one) => !known.includes(one)).slice(0, roomIn(invite, present));
        added = [...known, ...fresh];
        if (added.length === 0) throw usedUp();
        if (fresh.length === 0) return null;
        invite.used += fresh.length;
        guests.pictures.push(...fresh);
        const dueAt = clock.now() + retentionMs;
        return { ...withGuests(guests, [...present, ...fresh]), empty: 0, dueAt };
      });
      return added;
    },

    /** Takes pictures that came by the invitation out again, as if they had not come. */
    async leave(id: string, key: string, pictures: readonly string[]): Promise<void> {
      if (pictures.length === 0) return;
      for (const one of pictures) takenBack.set(one, sha256(key));
      // Even if none is in it: the next revision keeps the store from adding them late.
      await update(id, (album) =>
        withGuests(
          guestsOf(album),
          picturesOf(album).filter((one) => !pictures.includes(one)),
        ),
      );
    },

    /**
     * Returns the key too, whose hash is stored. Rejects with `forbidden`, `not_found`, `invalid_parameter` or
     * `conflict`.
     */
    async create(
      id: string,
      { expires_in = '7d', max = 100 }: InviteWish,
      { holder, ...by }: AlbumKeeper & { holder: string },
    ): Promise<{ invite: Invite; key: string }> {
      const life = parseExpiry(expires_in);
      if (life === null || life > MOST_MS) throw invalidParameter('expires_in', EXPIRY_FORM);
      const key = createDeleteToken(random);
      const expiresAt = clock.now() + life;
      const invite = { id: createId(random), hash: sha256(key), max, used: 0, expiresAt, by: holder };
      const add = (album: AlbumRecord) => {
        const guests = guestsOf(album);
        if (guests.invites.some(({ hash }) => hash === invite.hash)) return null;
        if (guests.invites.length >= MOST_INVITES) {
          throw new AppError(
            'conflict',
            inEnglish(`An album has at most ${MOST_INVITES} invitations; revoke one.`),
          );
        }
        guests.invites.push(invite);
        return withGuests(guests, picturesOf(album));
      };
      await act('album.invite', id, by, () => update(id, add));
      return { invite, key };
    },

    /** Rejects with `forbidden` or `not_found`. */
    list: async (id: string, by: AlbumKeeper) => guestsOf(await findFor(id, by)),

    /** Ends an invitation at once. Its pictures stay. Rejects with `forbidden` or `not_found`. */
    async revoke(id: string, invite: string, by: AlbumKeeper): Promise<Guests> {
      let isFound = false;
      const remove = (album: AlbumRecord) => {
        const guests = guestsOf(album);
        const all = [...guests.lapsed, ...guests.invites];
        const invites = all.filter(({ id }) => id !== invite);
        isFound ||= invites.length < all.length;
        if (!isFound) throw new AppError('not_found', 'There is no such invitation.');
        return withGuests({ ...guests, invites, lapsed: [] }, picturesOf(album));
      };
      return guestsOf(await act('album.change', id, by, () => update(id, remove)));
    },
  };
}

export type Invites = ReturnType<typeof createInvites>;

/** The error for an invitation that allows no more pictures. */
export function usedUp(): AppError {
  return new AppError('conflict', 'This invitation is used up, or its album is full.');
}
