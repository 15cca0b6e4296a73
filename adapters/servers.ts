import { unbracketed } from '../src/lib/address.ts';
import { readFlag } from '../src/lib/flag.ts';

/** Where a server listens: a host and a port, or the folder of a socket. */
export interface Server {
  host: string;
  port: number;
}

/**
 * Returns the URL with only its first host, and all hosts, because a list of hosts is not valid in a URL.
 * @throws {RangeError} with a message that does not repeat the URL, which may contain a password.
 */
export function splitHosts(text: string, scheme: 'postgres' | 'redis'): { url: URL; hosts: string[] } {
  const [whole = '', begin, authority = ''] = /^(\w+:\/\/)([^/?#]*)/.exec(text) ?? [];
  if (begin === undefined) throw new RangeError(`a ${scheme}: URL begins with ${scheme}://`);
  const at = authority.lastIndexOf('@') + 1;
  const hosts = authority.slice(at).split(',');
  const first = `${begin}${authority.slice(0, at)}${hosts[0] || 'localhost'}${text.slice(whole.length)}`;
  if (!URL.canParse(first)) throw invalidHost(scheme);
  return { url: new URL(first), hosts };
}

/**
 * Rejects parameters that a URL does not have: a misspelt one would be ignored.
 * @throws {RangeError} that says which there are.
 */
export function requireParameters({ searchParams }: URL, scheme: string, known: readonly string[]): void {
  const stranger = [...searchParams.keys()].find((name) => !known.includes(name));
  if (stranger === undefined) return;
  throw new RangeError(
    `${stranger} is not a parameter of ${scheme === 's3' ? 'an' : 'a'} ${scheme}: URL; the parameters are ${known.join(', ')}`,
  );
}

/**
 * Returns a flag of a URL, or `null` if it is not given.
 * @throws {RangeError} if it is neither true nor false.
 */
export function flagOf({ searchParams }: URL, name: string): boolean | null {
  const text = searchParams.get(name);
  const flag = readFlag(text ?? '');
  if (text && flag === null) throw new RangeError(`${name} in a URL must be true or false`);
  return flag;
}

/** Decodes a part of a URL. A `%` that encodes nothing stands for itself, as people write it in passwords. */
export function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text.replace(/%[0-9a-f]{2}/gi, (code) => String.fromCharCode(Number.parseInt(code.slice(1), 16)));
  }
}

/**
 * Parses `host`, `host:port`, or the path of a folder.
 * @throws {RangeError}
 */
export function serverAt(text: string, scheme: 'postgres' | 'redis', usualPort: number): Server {
  if (text.startsWith('/')) return { host: text, port: usualPort };
  if (text === '') return { host: '127.0.0.1', port: usualPort };
  const url = `${scheme}://${text}`;
  if (!URL.canParse(url)) throw invalidHost(scheme);
  const { hostname, port } = new URL(url);
  return { host: unbracketed(hostname), port: Number(port || usualPort) };
}

function invalidHost(scheme: string): RangeError {
  return new RangeError(`a ${scheme}: URL contains an invalid host`);
}
