import { unbracketed } from '../src/lib/address.ts';

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
