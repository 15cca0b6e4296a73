/**
 * The credentials that a proxy asks for, as `user:password`. The user's name contains no colon (RFC 7617);
 * the password may.
 */
export type Login = string;

export interface LoginParts {
  user: string;
  password: string;
}

/** Replaces a login wherever others could read it. */
export const MASKED = '***';

/** SOCKS5 counts each part in one byte (RFC 1929). */
const MOST_BYTES = 255;
/** Characters that would end a header line or the user ID of SOCKS4, and halves of characters, which no URL can name. */
const FORBIDDEN = /[\p{Cc}\p{Cs}]/u;

/**
 * Joins user and password into a login. Returns `null` if it cannot be sent to a proxy: no name, a part over
 * 255 bytes, or characters that are forbidden.
 */
export function loginOf({ user, password }: LoginParts): Login | null {
  if (user === '' || user.includes(':') || FORBIDDEN.test(user) || FORBIDDEN.test(password)) return null;
  const isShort = (part: string) => Buffer.byteLength(part) <= MOST_BYTES;
  return isShort(user) && isShort(password) ? `${user}:${password}` : null;
}

export function partsOf(login: Login): LoginParts {
  const colon = login.indexOf(':');
  return { user: login.slice(0, colon), password: login.slice(colon + 1) };
}

/** Returns the login as written in a URL before the `@`. */
export function formatLogin(login: Login): string {
  const { user, password } = partsOf(login);
  return `${encodeURIComponent(user)}:${encodeURIComponent(password)}`;
}

/** Returns the value of the header `Proxy-Authorization`. */
export function basicOf(login: Login): string {
  return `Basic ${Buffer.from(login, 'utf8').toString('base64')}`;
}
