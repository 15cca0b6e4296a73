import { createHmac, timingSafeEqual } from 'node:crypto';
import { EXTENSIONS } from '../../codec/format.ts';
import type { KeyRing } from '../../lib/key-ring.ts';
import { isGoodUntil } from '../../lib/stored-time.ts';
import type { ImageRecord } from '../image.ts';

/** How long a password is remembered, in ms. */
const COOKIE_LIFE_MS = 24 * 3_600_000;

const NAME = 'picpool_image';

type Protected = Pick<ImageRecord, 'id' | 'format' | 'passwordHash'>;

/** The path of the image host. */
interface Place {
  origin: string;
  basePath: string;
}

/** `keys`: the same on all copies of the server. */
export function createCookieSigner(keys: Pick<KeyRing, 'signing' | 'verifying'>, now: () => number) {
  const sign = ({ id, passwordHash }: Protected, expires: string, key: string) =>
    createHmac('sha256', key).update(`${id}\n${expires}\n${passwordHash}`).digest();

  function isProof(value: string | undefined, image: Protected): boolean {
    const [, expires, signature] = /^(\d{1,16})\.([\w-]{43})$/.exec(value ?? '') ?? [];
    if (expires === undefined || signature === undefined) return false;
    if (!isGoodUntil(Number(expires), now(), COOKIE_LIFE_MS)) return false;
    const given = Buffer.from(signature, 'base64url');
    return keys.verifying().some((key) => {
      const expected = sign(image, expires, key);
      return given.length === expected.length && timingSafeEqual(given, expected);
    });
  }

  return {
    /** Returns the `Set-Cookie` headers that unlock an image, none if it needs no password. */
    issue(image: Protected, { origin, basePath }: Place): [name: 'set-cookie', cookie: string][] {
      if (image.passwordHash === null) return [];
      const expires = String(now() + COOKIE_LIFE_MS);
      const value = `${expires}.${sign(image, expires, keys.signing()).toString('base64url')}`;
      const secure = origin.startsWith('https:') ? '; Secure' : '';
      const page = `${basePath}/i/${image.id}`;
      // A cookie path of /i/<id> covers what is below it, but not /i/<id>.webp, so each link gets its own cookie, and
      // so do albums, whose pages need many at once.
      return [
        [NAME, page],
        [NAME, `${page}.${EXTENSIONS[image.format]}`],
        [`${NAME}_${image.id}`, `${basePath}/a`],
      ].map(([name, path]) => [
        'set-cookie',
        `${name}=${value}; Path=${path}; Max-Age=${COOKIE_LIFE_MS / 1000}; HttpOnly; SameSite=Lax${secure}`,
      ]);
    },

    /** Parses a `Cookie` header, and returns whether it carries a proof for an image that has not expired. */
    opener(cookieHeader: string | null): (image: Protected) => boolean {
      /** One for each ID, so that a header costs little for each picture of an album. */
      const proofs = new Map<string, string>();
      for (const pair of cookieHeader?.split(';') ?? []) {
        const [, id = '', value] = /^\s*picpool_image(?:_([0-9A-Za-z]{12}))?=(\S+)\s*$/.exec(pair) ?? [];
        if (value !== undefined) proofs.set(id, value);
      }
      return (image) => isProof(proofs.get(''), image) || isProof(proofs.get(image.id), image);
    },
  };
}

/** Signs and checks proofs that a browser has given an image's password. */
export type CookieSigner = ReturnType<typeof createCookieSigner>;
