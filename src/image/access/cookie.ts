import { createHmac, timingSafeEqual } from 'node:crypto';
import type { KeyRing } from '../../lib/key-ring.ts';
import { EXTENSIONS, type ImageRecord } from '../image.ts';

/** How long a password need not be given again, in ms. */
export const COOKIE_LIFE_MS = 24 * 3_600_000;

const NAME = 'picpool_image';

type Protected = Pick<ImageRecord, 'id' | 'format' | 'passwordHash'>;

/** Where the image host stands. */
export interface Place {
  origin: string;
  basePath: string;
}

/** Proofs, signed by the server, that a browser has given an image's password. */
export interface CookieSigner {
  /** The `Set-Cookie` headers that unlock an image. */
  issue(image: Protected, place: Place): string[];
  /** Those that lock it again in this browser. */
  clear(image: Protected, place: Place): string[];
  /** True where a `Cookie` header carries a proof for this image that has not expired. */
  accepts(cookieHeader: string | null, image: Protected): boolean;
}

/** `keys`: the same on all copies of the server. */
export function createCookieSigner(
  keys: Pick<KeyRing, 'signing' | 'verifying'>,
  now: () => number,
): CookieSigner {
  const sign = ({ id, passwordHash }: Protected, expires: string, key: string) =>
    createHmac('sha256', key).update(`${id}\n${expires}\n${passwordHash}`).digest();

  // A path of /i/<id> covers what lies below it, but not /i/<id>.webp: each link gets its own cookie.
  function cookies(image: Protected, value: string, seconds: number, { origin, basePath }: Place): string[] {
    const secure = origin.startsWith('https:') ? '; Secure' : '';
    const page = `${basePath}/i/${image.id}`;
    return [page, `${page}.${EXTENSIONS[image.format]}`].map(
      (path) => `${NAME}=${value}; Path=${path}; Max-Age=${seconds}; HttpOnly; SameSite=Lax${secure}`,
    );
  }

  return {
    issue(image, place) {
      const expires = String(now() + COOKIE_LIFE_MS);
      const value = `${expires}.${sign(image, expires, keys.signing()).toString('base64url')}`;
      return cookies(image, value, COOKIE_LIFE_MS / 1000, place);
    },

    clear: (image, place) => cookies(image, '', 0, place),

    accepts(cookieHeader, image) {
      if (cookieHeader === null) return false;
      return cookieHeader.split(';').some((pair) => {
        const [, expires, signature] = /^\s*picpool_image=(\d{1,16})\.([\w-]{43})\s*$/.exec(pair) ?? [];
        if (expires === undefined || signature === undefined || Number(expires) <= now()) return false;
        const given = Buffer.from(signature, 'base64url');
        return keys.verifying().some((key) => {
          const expected = sign(image, expires, key);
          return given.length === expected.length && timingSafeEqual(given, expected);
        });
      });
    },
  };
}
