import { type Login, loginOf } from '../login.ts';

const COLON = 58;
const AT = 64;
const SPACE = 32;
const TAB = 9;

/** A login, or `null` if it cannot be sent to a proxy, and where the text continues. */
interface ReadLogin {
  login: Login | null;
  end: number;
}

/**
 * Reads `user:password@` at `start`, as in URLs. It ends with the last `@` of the word, and may be
 * percent-encoded. Returns `undefined` if no `@` follows.
 */
export function readLoginBefore(text: string, start: number, end: number): ReadLogin | undefined {
  let at = -1;
  for (let i = start; i < end; i++) {
    const code = text.charCodeAt(i);
    if (code === SPACE || code === TAB) break;
    if (code === AT) at = i;
  }
  if (at < 0) return undefined;
  const [user = '', ...rest] = text.slice(start, at).split(':');
  const login = loginOf({ user: unescaped(user), password: unescaped(rest.join(':')) });
  return { login, end: at + 1 };
}

/** Reads `:user:password` at `start`, which ends with the word. Returns `undefined` if there is no second colon. */
export function readLoginAfter(text: string, start: number, end: number): ReadLogin | undefined {
  let stop = start + 1;
  while (stop < end && text.charCodeAt(stop) !== SPACE && text.charCodeAt(stop) !== TAB) stop++;
  const word = text.slice(start + 1, stop);
  const colon = word.indexOf(':');
  if (text.charCodeAt(start) !== COLON || colon < 0) return undefined;
  const login = loginOf({ user: word.slice(0, colon), password: word.slice(colon + 1) });
  return { login, end: stop };
}

/** A percent sign that starts no escape belongs to the password. */
function unescaped(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
