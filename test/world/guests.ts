import type { Album, createAlbumUser } from './albums.ts';
import { happens, oneOf, whole } from './chance.ts';
import { isDuring } from './disasters.ts';
import { GRACE_MS, type Ledger } from './ledger.ts';
import { DAY, trueTime } from './time.ts';
import type { createUploader } from './uploads.ts';
import type { Answer, Unanswered } from './users.ts';

/** An invitation as the owner of its album knows it. */
interface Invite {
  album: Album;
  path: string;
  id: string;
  max: number;
  /** How many uploads were begun, and how many acknowledged. */
  tried: number;
  came: number;
  at: number;
  revocationAskedAt: number | null;
  revokedAt: number | null;
}

interface Around {
  ledger: Ledger;
  albums: ReturnType<typeof createAlbumUser>;
  upload: ReturnType<typeof createUploader>;
  breaks(promise: string): void;
}

const LIFE_DAYS = 30;

/** Creates a function that invites guests to albums, lets them upload, and revokes invitations. */
export function createHost({ ledger, albums, upload, breaks }: Around): () => Promise<void> {
  const invites: Invite[] = [];

  async function invite(album: Album): Promise<void> {
    const max = whole(1, 4);
    const body = { max, expires_in: `${LIFE_DAYS}d` };
    const answer = await albums.change(album, 'POST', '/invites', body);
    if (!answer) return;
    const { id, url } = JSON.parse(new TextDecoder().decode(answer.body));
    const path = url.slice(new URL(url).origin.length);
    invites.push({
      ...{ album, id, path, max, tried: 0, came: 0, at: trueTime() },
      ...{ revocationAskedAt: null, revokedAt: null },
    });
  }

  async function revoke(one: Invite): Promise<void> {
    one.revocationAskedAt ??= trueTime();
    if (await albums.change(one.album, 'DELETE', `/invites/${one.id}`)) one.revokedAt ??= trueTime();
  }

  async function comeBy(one: Invite): Promise<void> {
    const { album, max, path } = one;
    const begun = trueTime();
    one.tried++;
    await upload({ entrance: { path, told } });

    function told(answer: Answer | Unanswered, id: string | null): void {
      if (id !== null) {
        album.pictures.push(id);
        album.isOrdered = false;
        one.came++;
      }
      // A clock that was ahead has ended what has not expired.
      if (typeof answer === 'string' || album.isDoubtful || !ledger.isTimely) return;
      if (trueTime() > one.at + LIFE_DAYS * DAY) return;
      // Records of earlier know less of what it has let in.
      if (isDuring(ledger.disaster, one.at - GRACE_MS, trueTime())) return;
      ledger.examined.guest++;
      const name = `the invitation ${one.id} to ${album.id}`;
      const isOver = one.revokedAt !== null && begun > one.revokedAt + GRACE_MS;
      if (id !== null && isOver) breaks(`${name} is revoked, and still lets pictures in`);
      if (id !== null && one.came > max) breaks(`${name} has let in ${one.came} of ${max} pictures`);
      if (answer.status === 403 && one.revocationAskedAt === null && album.removalAskedAt === null)
        breaks(`${name} is lost`);
      if (answer.status === 409 && one.tried <= max)
        breaks(`${name} is used up by fewer pictures than ${max}`);
    }
  }

  return async () => {
    const album = albums.standing();
    if (album && (invites.length === 0 || happens(0.3))) await invite(album);
    const one = oneOf(invites);
    if (!one) return;
    if (happens(0.15)) await revoke(one);
    await (happens(0.3) ? Promise.all([comeBy(one), comeBy(one)]) : comeBy(one));
  };
}
