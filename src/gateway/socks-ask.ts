import { canonicalAddress } from '../lib/address.ts';
import type { Inbox } from '../proxy/check/inbox.ts';
import type { LoginParts } from '../proxy/login.ts';
import { badRequest, GatewayFault } from './fault.ts';
import { readTarget, type Target } from './target.ts';

const VERSION = 5;
const NO_LOGIN = 0;
const WITH_LOGIN = 2;
const NOTHING_FITS = 255;
const CONNECT = 1;

/** Who asks, and the answers that let it in or not; then what it asks for. */
type Step = { login: LoginParts; yes: number[]; no: number[] } | { target: Target };

/**
 * Parses the server's part of SOCKS5 (RFC 1928, RFC 1929) up to the request. Call it whenever bytes arrive, but after a login
 * only once the client was let in. It asks for a login if the client offers one, because the user name contains options.
 * @throws {GatewayFault} `bad_request`
 */
export function socksReader(say: (bytes: Uint8Array) => void): (inbox: Inbox) => Step | undefined {
  let step: 'greeting' | 'login' | 'request' = 'greeting';
  return (inbox) => {
    if (step === 'greeting') {
      const methods = readGreeting(inbox);
      if (methods === undefined) return undefined;
      const method = [WITH_LOGIN, NO_LOGIN].find((one) => methods.includes(one)) ?? NOTHING_FITS;
      step = method === WITH_LOGIN ? 'login' : 'request';
      const nobody = { user: '', password: '' };
      if (method === NO_LOGIN)
        return { login: nobody, yes: [VERSION, NO_LOGIN], no: [VERSION, NOTHING_FITS] };
      say(new Uint8Array([VERSION, method]));
      if (method === NOTHING_FITS)
        throw badRequest("None of the client's authentication methods is supported.");
    }
    if (step === 'login') {
      const login = readLogin(inbox);
      if (login === undefined) return undefined;
      step = 'request';
      return { login, yes: [1, 0], no: [1, 1] };
    }
    const target = readRequest(inbox);
    return target && { target };
  };
}

function readGreeting(inbox: Inbox): Uint8Array | undefined {
  const [, count = 0] = inbox.peek(2) ?? [];
  return inbox.peek(2) && inbox.take(2 + count)?.subarray(2);
}

function readLogin(inbox: Inbox): LoginParts | undefined {
  const [version, userBytes] = inbox.peek(2) ?? [];
  if (version === undefined || userBytes === undefined) return undefined;
  if (version !== 1) throw badRequest('The login is malformed.');
  const passwordBytes = inbox.peek(3 + userBytes)?.at(-1);
  if (passwordBytes === undefined) return undefined;
  const bytes = inbox.take(3 + userBytes + passwordBytes);
  return (
    bytes && {
      user: bytes.subarray(2, 2 + userBytes).toString('utf8'),
      password: bytes.subarray(3 + userBytes).toString('utf8'),
    }
  );
}

function readRequest(inbox: Inbox): Target | undefined {
  const start = inbox.peek(5);
  if (start === undefined) return undefined;
  const [version, command, , type, nameBytes = 0] = start;
  if (version !== VERSION) throw badRequest('The request is malformed.');
  if (command !== CONNECT) throw new GatewayFault('unknown_command', 'Only CONNECT is supported.');
  const hostBytes = type === 1 ? 4 : type === 4 ? 16 : type === 3 ? 1 + nameBytes : null;
  if (hostBytes === null) throw new GatewayFault('unknown_address_type', 'The address type is unknown.');
  const bytes = inbox.take(4 + hostBytes + 2);
  if (bytes === undefined) return undefined;
  const host = hostOf(type ?? 0, bytes.subarray(4, 4 + hostBytes));
  const target = readTarget(host, bytes.readUInt16BE(4 + hostBytes));
  if (target === null) throw badRequest('The target is neither a name nor an address.');
  return target;
}

function hostOf(type: number, bytes: Buffer): string {
  if (type === 1) return bytes.join('.');
  if (type === 3) return bytes.toString('utf8', 1);
  const groups = bytes.toString('hex').match(/.{4}/g) ?? [];
  return canonicalAddress(groups.join(':')) ?? '';
}
