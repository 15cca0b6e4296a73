import { bracketed, canonicalAddress, isGloballyRoutable, unbracketed } from '../lib/address.ts';
import { REFUSED_PORTS } from '../proxy/check/policy.ts';
import type { TunnelTarget } from '../proxy/check/socks.ts';

/** The destination of a client: a name in lower case, or a literal address in canonical form. */
export type Target = TunnelTarget;

export interface TargetRules {
  /** Ports that may be reached; `null`: all except those of services that obey whatever they receive. */
  ports: ReadonlySet<number> | null;
  allowPrivate: boolean;
  /** Our own addresses, in canonical form, and names. */
  own: ReadonlySet<string>;
}

/** Limits of DNS. SOCKS5 even writes the length of a name into one byte. */
const MOST_NAME = 253;
const LABEL = /^[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?$/;

/** Suffixes of names that only exist inside a network (RFC 6761, RFC 6762, RFC 8375, and ICANN's `internal`). */
const LOCAL_NAME = /(^|\.)(localhost|local|internal|intranet|lan|home|corp|home\.arpa)$/;

/** Parses `host` and a port as in a URL (`0x7f.1` is 127.0.0.1). Returns `null` if they are invalid. */
export function readTarget(host: string, port: number): Target | null {
  if (!Number.isInteger(port) || port < 1 || port > 65_535) return null;
  // Most are names, which need no further look. A number at the end makes an address.
  if (isName(host) && /\.[a-z]+$/.test(host)) return { host, address: null, port };
  if (canonicalAddress(host) === host) return { host, address: host, port };
  const bare = unbracketed(host);
  const url = `http://${bracketed(bare)}/`;
  if (/[/\\@?#\s%]/.test(bare) || !URL.canParse(url)) return null;
  const name = unbracketed(new URL(url).hostname).replace(/\.$/, '');
  const address = canonicalAddress(name);
  if (address !== null) return { host: address, address, port };
  return isName(name) ? { host: name, address: null, port } : null;
}

function isName(text: string): boolean {
  return text.length <= MOST_NAME && text.split('.').every((label) => LABEL.test(label));
}

/** Parses `example.com:443` or `[2001:db8::1]:443`. Returns `null` if it is invalid. The port is required. */
export function readAuthority(text: string): Target | null {
  const [, host = '', port = ''] = /^(\[[0-9a-f:.]+\]|[^:[\]]+):(\d{1,5})$/i.exec(text) ?? [];
  return host === '' ? null : readTarget(host, Number(port));
}

/**
 * Returns why a target must not be reached, as a sentence, or `null` if it may be. A public proxy would resolve names
 * itself, so only literal addresses can be judged.
 */
export function refusedTarget({ host, address, port }: Target, rules: TargetRules): string | null {
  const { ports, allowPrivate, own } = rules;
  if (ports !== null && !ports.has(port)) {
    return `Port ${port} is not allowed here; allowed are ${[...ports].join(', ')}.`;
  }
  if (REFUSED_PORTS.has(port))
    return `Port ${port} is never reached through proxies: what listens there may obey whatever it receives.`;
  if (allowPrivate) return null;
  if (own.has(host)) return 'The target is this server itself.';
  if (address !== null) {
    return isGloballyRoutable(address) ? null : 'The target is not an address of the public internet.';
  }
  if (!host.includes('.') || LOCAL_NAME.test(host)) return 'The target is a name of a local network.';
  return null;
}

/** Returns `example.com:443`, with brackets around IPv6. */
export function formatTarget({ host, port }: Pick<Target, 'host' | 'port'>): string {
  return `${bracketed(host)}:${port}`;
}
