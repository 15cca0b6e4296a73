import { createHmac, timingSafeEqual } from 'node:crypto';
import { EXTENSIONS, type ImageRecord } from '../image.ts';

/** How long a password need not be given again, in ms. */
export const COOKIE_LIFE_MS = 24 * 3_600_000;

const NAME = 'picpool_image';

type Protected = Pick<ImageRecord, 'id' | 'format' | 'passwordHash'>;

/** Proofs, signed by the server, that a browser has given an image's password. */
export interface CookieSigner {
  /** The `Set-Cookie` headers that unlock an image. `basePath`: where the image host is mounted. */
  issue(image: Protected, origin: string, basePath: string): string[];
  /** True where a `Cookie` header carries a proof for this image that has not expired. */
  accepts(cookieHeader: string | null, image: Protected): boolean;
}

/** `secret`: the same on all copies of the server. */
export function createCookieSigner(secret: string, now: () => number): CookieSigner {
  const sign = ({ id, passwordHash }: Protected, expires: string) =>
    createHmac('sha256', secret).update(`${id}\n${expires}\n${passwordHash}`).digest();

  return {
    issue(image, origin, basePath) {
      const expires = String(now() + COOKIE_LIFE_MS);
      const value = `${expires}.${sign(image, expires).toString('base64url')}`;
      const secure = origin.startsWith('https:') ? '; Secure' : '';
      // A path of /i/<id> covers what lies below it, but not /i/<id>.webp: each link gets its own cookie.
      const page = `${basePath}/i/${image.id}`;
      return [page, `${page}.${EXTENSIONS[image.format]}`].map(
        (path) =>
          `${NAME}=${value}; Path=${path}; Max-Age=${COOKIE_LIFE_MS / 1000}; HttpOnly; SameSite=Lax${secure}`,
      );
    },

    accepts(cookieHeader, image) {
      if (cookieHeader === null) return false;
      return cookieHeader.split(';').some((pair) => {
        const [, expires, signature] = /^\s*picpool_image=(\d{1,16})\.([\w-]{43})\s*$/.exec(pair) ?? [];
        if (expires === undefined || signature === undefined || Number(expires) <= now()) return false;
        const given = Buffer.from(signature, 'base64url');
        const expected = sign(image, expires);
        return given.length === expected.length && timingSafeEqual(given, expected);
      });
    },
  };
}
