import { TOKEN_PATTERN } from '../records/ids.ts';

/** What an upload tells the next page, once. */
interface Flash {
  /** The delete token. */
  token: string;
  /** Sentences on what the picture has lost. */
  notes: readonly string[];
}

/** Passes a flash to the next page without leaving it in URLs, logs and histories. */
interface FlashCookie {
  /** Returns the cookie that carries it, for that page only. */
  write(id: string, flash: Flash, origin: string): string;
  /** Returns `null` if there is none, or not one of ours. */
  read(request: Request): Flash | null;
  /** Returns the cookie that removes it. */
  clear(id: string, origin: string): string;
}

const NAME = 'picpool_uploaded';
/** Long enough for a redirect. */
const LIFE_S = 60;
const SEPARATOR = '~';

export function createFlashCookie(basePath: string): FlashCookie {
  const cookie = (id: string, value: string, seconds: number, origin: string) =>
    `${NAME}=${value}; Path=${basePath}/i/${id}; Max-Age=${seconds}; HttpOnly; SameSite=Lax${
      origin.startsWith('https:') ? '; Secure' : ''
    }`;
  return {
    write: (id, { token, notes }, origin) =>
      cookie(id, [token, ...notes.map(encodeURIComponent)].join(SEPARATOR), LIFE_S, origin),
    clear: (id, origin) => cookie(id, '', 0, origin),
    read(request) {
      const pairs = request.headers.get('cookie')?.split(';') ?? [];
      const value = pairs.map((pair) => pair.trim().split('=')).find(([name]) => name === NAME)?.[1];
      const [token = '', ...notes] = value?.split(SEPARATOR) ?? [];
      return TOKEN_PATTERN.test(token) ? { token, notes: notes.map(decoded) } : null;
    },
  };
}

/** A cookie may come from anywhere. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return '';
  }
}
