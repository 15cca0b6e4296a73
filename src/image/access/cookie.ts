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

/** Signs and checks proofs that a browser has given an image's password. */
export interface CookieSigner {
  /** Returns the `Set-Cookie` headers that unlock an image. */
  issue(image: Protected, place: Place): string[];
  /** Returns the headers that lock it again in this browser. */
  clear(image: Protected, place: Place): string[];
  /** Reports whether a `Cookie` header carries a proof for this image that has not expired. */
  accepts(cookieHeader: string | null, image: Protected): boolean;
  /**
   * Like `accepts`, for the pages of albums, whose header carries proofs for many images under different names: the
   * header is parsed once.
   */
  opener(cookieHeader: string | null): (image: Protected) => boolean;
}

/** `keys`: the same on all copies of the server. */
export function createCookieSigner(
  keys: Pick<KeyRing, 'signing' | 'verifying'>,
  now: () => number,
): CookieSigner {
  const sign = ({ id, passwordHash }: Protected, expires: string, key: string) =>
    createHmac('sha256', key).update(`${id}\n${expires}\n${passwordHash}`).digest();

  // A cookie path of /i/<id> covers what is below it, but not /i/<id>.webp, so each link gets its own cookie, and so
  // do albums.
  function cookies(image: Protected, value: string, seconds: number, { origin, basePath }: Place): string[] {
    const secure = origin.startsWith('https:') ? '; Secure' : '';
    const page = `${basePath}/i/${image.id}`;
    return [
      [NAME, page],
      [NAME, `${page}.${EXTENSIONS[image.format]}`],
      [`${NAME}_${image.id}`, `${basePath}/a`],
    ].map(
      ([name, path]) => `${name}=${value}; Path=${path}; Max-Age=${seconds}; HttpOnly; SameSite=Lax${secure}`,
    );
  }

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
    issue(image, place) {
      const expires = String(now() + COOKIE_LIFE_MS);
      const value = `${expires}.${sign(image, expires, keys.signing()).toString('base64url')}`;
      return cookies(image, value, COOKIE_LIFE_MS / 1000, place);
    },

    clear: (image, place) => cookies(image, '', 0, place),

    accepts(cookieHeader, image) {
      if (cookieHeader === null) return false;
      return cookieHeader.split(';').some((pair) => {
        const [, id, value] = /^\s*picpool_image(?:_([0-9A-Za-z]{12}))?=(\S+)\s*$/.exec(pair) ?? [];
        return (id ?? image.id) === image.id && isProof(value, image);
      });
    },

    opener(cookieHeader) {
      const proofs = new Map<string, string>();
      for (const pair of cookieHeader?.split(';') ?? []) {
        const [, id, value] = /^\s*picpool_image_([0-9A-Za-z]{12})=(\S+)\s*$/.exec(pair) ?? [];
        if (id !== undefined && value !== undefined) proofs.set(id, value);
      }
      return (image) => isProof(proofs.get(image.id), image);
    },
  };
}
