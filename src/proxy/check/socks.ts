import { isIPv4 } from 'node:net';
import { groupsOf } from '../../lib/address.ts';
import { type Login, partsOf } from '../login.ts';
import type { Spoken } from './connection.ts';
import { CheckFault } from './fault.ts';

/**
 * The destination of a tunnel: its address if known, so that the proxy does not have to resolve names,
 * otherwise its name.
 */
export interface TunnelTarget {
  host: string;
  /** Literal address, or `null` if only the name is known. */
  address: string | null;
  port: number;
}

/**
 * Asks a SOCKS4 proxy for a tunnel, with SOCKS4a (the name follows the request) if there is no IPv4 address.
 * Throws `bad_answer` if the proxy declines, and `auth_required` if it wants an identd or a user ID other
 * than that of the login.
 */
export function connectSocks4(target: TunnelTarget, login: Login | null = null): Spoken<true> {
  const ipv4 = target.address !== null && isIPv4(target.address) ? target.address : null;
  // 0.0.0.x with x other than 0 announces a name (SOCKS4a).
  const octets = (ipv4 ?? '0.0.0.1').split('.').map(Number);
  const user = login === null ? [] : Buffer.from(partsOf(login).user);
  const name = ipv4 === null ? Buffer.from(`${target.host}\0`, 'latin1') : Buffer.alloc(0);
  return {
    say: Buffer.concat([Buffer.from([4, 1, ...portBytes(target.port), ...octets, ...user, 0]), name]),
    hear(inbox) {
      const reply = inbox.take(8);
      if (reply === undefined) return undefined;
      const [version, code] = reply;
      // The reply's version is 0; some proxies echo 4.
      if (version !== 0 && version !== 4) throw new CheckFault('protocol_error', 'not a SOCKS4 reply');
      if (code === 92 || code === 93) throw new CheckFault('auth_required', 'wants an identd');
      if (code === 91) throw new CheckFault('bad_answer', 'declined');
      if (code !== 90) throw new CheckFault('protocol_error', 'unknown SOCKS4 reply');
      return true;
    },
  };
}

const NO_LOGIN = 0;
const USER_AND_PASSWORD = 2;

/**
 * Greets a SOCKS5 proxy and offers "no authentication" (RFC 1928, section 3), or user and password if there
 * is a login (RFC 1929). Throws `auth_required` if the proxy wants another method or login.
 */
export function greetSocks5(login: Login | null = null): Spoken<true>[] {
  if (login === null) return [greet(NO_LOGIN)];
  const { user, password } = partsOf(login);
  const [name, secret] = [Buffer.from(user), Buffer.from(password)];
  const logIn: Spoken<true> = {
    say: Buffer.from([1, name.length, ...name, secret.length, ...secret]),
    hear(inbox) {
      const reply = inbox.take(2);
      if (reply === undefined) return undefined;
      if (reply[1] !== 0) throw new CheckFault('auth_required', 'wants another login');
      return true;
    },
  };
  return [greet(USER_AND_PASSWORD), logIn];
}

function greet(offered: number): Spoken<true> {
  return {
    say: Buffer.from([5, 1, offered]),
    hear(inbox) {
      const reply = inbox.take(2);
      if (reply === undefined) return undefined;
      const [version, method] = reply;
      if (version !== 5) throw new CheckFault('protocol_error', 'not a SOCKS5 reply');
      if (method !== offered) throw new CheckFault('auth_required', 'wants another method');
      return true;
    },
  };
}

/**
 * Asks a SOCKS5 proxy that was greeted for a tunnel (RFC 1928, sections 4 to 6). Throws `bad_answer` if the
 * proxy declines.
 */
export function connectSocks5(target: TunnelTarget): Spoken<true> {
  return {
    say: Buffer.from([5, 1, 0, ...socks5Address(target), ...portBytes(target.port)]),
    hear(inbox) {
      const start = inbox.peek(5);
      if (start === undefined) return undefined;
      const [version, code = 255, , type, nameBytes = 0] = start;
      if (version !== 5) throw new CheckFault('protocol_error', 'not a SOCKS5 reply');
      if (code > 8) throw new CheckFault('protocol_error', 'unknown SOCKS5 reply');
      if (code !== 0) throw new CheckFault('bad_answer', 'declined');
      const addressBytes = type === 1 ? 4 : type === 4 ? 16 : type === 3 ? 1 + nameBytes : null;
      if (addressBytes === null) throw new CheckFault('protocol_error', 'unknown SOCKS5 address type');
      return inbox.take(4 + addressBytes + 2) && true;
    },
  };
}

function socks5Address({ host, address }: TunnelTarget): number[] {
  if (address === null) return [3, host.length, ...Buffer.from(host, 'latin1')];
  if (isIPv4(address)) return [1, ...address.split('.').map(Number)];
  return [4, ...ipv6Bytes(address)];
}

function portBytes(port: number): [number, number] {
  return [port >> 8, port & 255];
}

/** Returns the 16 bytes of a canonical IPv6 address. */
export function ipv6Bytes(address: string): number[] {
  return groupsOf(address).flatMap((group) => portBytes(Number.parseInt(group, 16)));
}
