/** What a proxy asks its users for, as `user:password`. The user's name holds no colon (RFC 7617), the password may. */
export type Login = string;

export interface LoginParts {
  user: string;
  password: string;
}

/** What replaces a login wherever others could read it. */
export const MASKED = '***';

/** SOCKS5 counts each part in one byte (RFC 1929). */
const MOST_BYTES = 255;
/** What would end a header line, or the user id of SOCKS4. */
const CONTROL = /\p{Cc}/u;

/** The login of the two parts, or `null` if it cannot be sent to a proxy: no name, a part beyond 255 bytes, control characters. */
export function loginOf({ user, password }: LoginParts): Login | null {
  if (user === '' || user.includes(':') || CONTROL.test(user) || CONTROL.test(password)) return null;
  const isShort = (part: string) => Buffer.byteLength(part) <= MOST_BYTES;
  return isShort(user) && isShort(password) ? `${user}:${password}` : null;
}

export function partsOf(login: Login): LoginParts {
  const colon = login.indexOf(':');
  return { user: login.slice(0, colon), password: login.slice(colon + 1) };
}

/** The login as written in a URL, before the `@`. */
export function formatLogin(login: Login): string {
  const { user, password } = partsOf(login);
  return `${encodeURIComponent(user)}:${encodeURIComponent(password)}`;
}

/** The value of the header `Proxy-Authorization`. */
export function basicOf(login: Login): string {
  return `Basic ${Buffer.from(login, 'utf8').toString('base64')}`;
}
