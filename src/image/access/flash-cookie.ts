import { TOKEN_PATTERN } from '../ids.ts';

/** Hands a delete token from an upload to the page that comes next, past URLs, logs and histories. */
export interface FlashCookie {
  /** The cookie that carries it, for that page alone. */
  write(id: string, token: string, origin: string): string;
  read(request: Request): string | null;
  /** The cookie that removes it. */
  clear(id: string, origin: string): string;
}

const NAME = 'picpool_uploaded';
/** Long enough for a redirect. */
const LIFE_S = 60;

export function createFlashCookie(basePath: string): FlashCookie {
  const cookie = (id: string, value: string, seconds: number, origin: string) =>
    `${NAME}=${value}; Path=${basePath}/i/${id}; Max-Age=${seconds}; HttpOnly; SameSite=Lax${
      origin.startsWith('https:') ? '; Secure' : ''
    }`;
  return {
    write: (id, token, origin) => cookie(id, token, LIFE_S, origin),
    clear: (id, origin) => cookie(id, '', 0, origin),
    read(request) {
      const pairs = request.headers.get('cookie')?.split(';') ?? [];
      const value = pairs.map((pair) => pair.trim().split('=')).find(([name]) => name === NAME)?.[1];
      return value !== undefined && TOKEN_PATTERN.test(value) ? value : null;
    },
  };
}
