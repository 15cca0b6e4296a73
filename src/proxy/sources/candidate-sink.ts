import { isHostName } from '../../lib/address.ts';
import type { Kind } from '../discovery/key.ts';
import { type Login, type LoginParts, loginOf } from '../login.ts';
import type { Dialled, Protocol } from '../proxy.ts';
import { type EntryRules, type ListedEndpoint, readEndpoint } from './endpoint.ts';

/** `socks5h://[full IPv6 address]:65535` is shorter. */
const LONGEST_ADDRESS = 128;

/** Of one public list, of which none has a thousand. Each takes 250 bytes, where IPv4 takes 12. */
const MOST_IPV6 = 20_000;

/** Called for every usable entry of a list, duplicates included. `country` is what the list gives, if anything. */
export type OnCandidate = (
  kind: Kind,
  ip: string,
  port: number,
  country: string | null,
  login: Login | null,
) => void;

/** An upstream with a name or TLS of its own. Such entries of the operator's own lists are for his gateway alone. */
export interface PaidEntry extends Omit<Dialled, 'protocol'> {
  kind: Kind;
  country: string | null;
}

export interface Tally {
  found: number;
  rejected: number;
}

/** What a list says about an address in separate fields. */
interface Said {
  protocols: readonly Protocol[];
  country: string | null;
  login?: LoginParts | null;
}

export interface CandidateSinkOptions extends EntryRules {
  protocol: Protocol | null;
  onCandidate: OnCandidate;
  /** Default: they are counted, and nothing else. */
  onPaid?: ((entry: PaidEntry) => void) | undefined;
  /** Called for each line that could not be read, with its number from 1 on. */
  onReject?: ((line: number, text: string) => void) | undefined;
}

export function createCandidateSink({
  protocol,
  allowPrivate,
  logins,
  onCandidate,
  onPaid,
  onReject,
}: CandidateSinkOptions) {
  const tally: Tally = { found: 0, rejected: 0 };
  const rules: EntryRules = { allowPrivate, logins };
  const read: ListedEndpoint = { protocol: null, ip: '', port: 0, country: null, login: null, tls: false };
  let ipv6 = 0;

  function take(said: Protocol | null, country: string | null): void {
    if (!logins && read.ip.includes(':') && ++ipv6 > MOST_IPV6) {
      tally.rejected++;
      return;
    }
    // Lists of `https` proxies often write them as http://, because that is how clients talk to them.
    const meant = said === null || (said === 'http' && protocol === 'https') ? protocol : said;
    const { ip, port, login, tls } = read;
    const kind = meant ?? 'any';
    tally.found++;
    if (!logins || (!tls && !isHostName(ip))) onCandidate(kind, ip, port, country, login);
    else onPaid?.({ kind: tls ? 'http' : kind, ip, port, country, login, tls: tls ? ip : null });
  }

  return {
    tally,
    /**
     * Takes an entry as text: `[scheme://]ip:port[tail]` in `text[start, end)`. Returns false, and counts nothing, if
     * it is not one.
     */
    entry(text: string, start: number, end: number): boolean {
      if (!readEndpoint(text, start, end, rules, read)) return false;
      take(read.protocol, read.country);
      return true;
    },
    /** Takes an entry in parts. `said` takes precedence over what the address itself says. */
    parts(address: string, port: string, { protocols, country, login = null }: Said): boolean {
      const bare = address.trim();
      if (bare.length > LONGEST_ADDRESS || port.length > LONGEST_ADDRESS) return false;
      const text = hasPort(bare) ? bare : withPort(bare, port);
      if (text === null) return false;
      if (!readEndpoint(text, 0, text.length, rules, read)) return false;
      if (login !== null && logins) read.login = loginOf(login);
      if (login !== null && read.login === null) return false;
      if (protocols.length === 0) take(read.protocol, country ?? read.country);
      for (const said of protocols) take(said, country ?? read.country);
      return true;
    },
    /** Counts an entry that could not be read, and its line if the format has lines. */
    reject(line?: number, text = ''): void {
      tally.rejected++;
      if (line !== undefined) onReject?.(line, text);
    },
  };
}

/** Receives what the parsers of all formats extract, decides what is accepted, and counts. */
export type CandidateSink = ReturnType<typeof createCandidateSink>;

/** Reports whether an address has a port. For IPv6, where colons prove nothing, it follows the bracket. */
function hasPort(address: string): boolean {
  return !isBareIpv6(address) && /^[^[]*:\d+\/?$|\]:\d+$/.test(address);
}

/** Adds a port to an address. Returns `null` unless the port is a number and nothing else: `8,080` is not port 8. */
function withPort(address: string, port: string): string | null {
  const cell = port.trim();
  if (!/^\d{1,5}$/.test(cell)) return null;
  return `${isBareIpv6(address) ? `[${address}]` : address}:${cell}`;
}

function isBareIpv6(address: string): boolean {
  return /^[0-9a-f:.]*$/i.test(address) && address.indexOf(':') !== address.lastIndexOf(':');
}
