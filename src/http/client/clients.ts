import { type Finding, warn } from '../../findings/finding.ts';
import { canonicalAddress, clientNetwork, createNetworkList, LOOPBACK } from '../../lib/address.ts';
import { BoundedMap, remember } from '../../lib/bounded-map.ts';
import type { Log } from '../../lib/logger.ts';
import { elapsedSince } from '../../lib/stored-time.ts';
import type { ProxyTrust } from './proxy-trust.ts';

interface ClientsOptions {
  trust: ProxyTrust;
  /** Number of reverse proxies in front, if configured. */
  hops?: number | undefined;
  /** Reports whether several clients are known to share an address. */
  isShared?: (address: string) => boolean;
  log: Log;
  /** Milliseconds; only differences count. */
  now: () => number;
}

/**
 * Visitors with such an address came through another router before the reverse proxy saw them, or are in its network.
 */
const SHARED_BEHIND_PROXY = createNetworkList([
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.1',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.168.0.0/16',
  '::1',
  'fc00::/7',
  'fe80::/10',
]);

/** How long the address of an unnamed reverse proxy gives no rights, in ms, and how many are remembered. */
const REMEMBER_MS = 24 * 3_600_000;
const MAX_REMEMBERED = 10_000;
const WARN_EVERY_MS = 3_600_000;

export function createClients({ trust, hops, isShared = () => false, log, now }: ClientsOptions) {
  const unnamed = createUnnamedProxies(log, now);

  const identityOf = (socketPeer: string, headers: Headers): string | null => {
    const { address, believed, sure } = findClient(socketPeer, headers.get('x-forwarded-for'), trust, hops);
    if (!believed) {
      const header = forwardedBy(headers);
      if (header !== null) unnamed.note(address, header);
      return unnamed.has(address) || isShared(address) ? null : address;
    }
    const isKnown = (other: string) => other === address || trust.has(other);
    const isEvidence = sure && !trust.has(address) && !SHARED_BEHIND_PROXY.has(address) && !isShared(address);
    return isEvidence && reportedClients(headers).every(isKnown) ? address : null;
  };

  return {
    trustNobody: trust.isEmpty,
    /**
     * Returns the client's address if only one client has it, otherwise `null`, which gives no rights. Returns `null`
     * if anything suggests that others use the same address.
     */
    identityOf,
    /** Reports whether the forwarding headers of this peer are trusted. */
    isTrusted: (socketPeer: string) => trust.has(findClient(socketPeer, null, trust).address),

    /** Returns the client's address, for limits, blocks and the log. */
    addressOf(socketPeer: string, headers: Headers): string {
      const forwardedFor = headers.get('x-forwarded-for');
      const { address, believed } = findClient(socketPeer, forwardedFor, trust, hops);
      if (!believed && forwardedFor !== null) unnamed.note(address, 'x-forwarded-for');
      return address;
    },

    /** Reports whether the client is on this machine and does not seem to forward requests of others. */
    isDirect(socketPeer: string, headers: Headers): boolean {
      const { address, believed } = findClient(socketPeer, null, trust);
      // nginx sends this to a server behind it by default, and browsers never do.
      const isRelayed = headers.get('connection')?.toLowerCase() === 'close';
      return LOOPBACK.has(address) && !believed && !isRelayed && identityOf(socketPeer, headers) === address;
    },

    /** Returns problems for the operator to fix. Untrusted clients cannot cause them. */
    async findings(): Promise<Finding[]> {
      return unnamed
        .addresses()
        .filter((address) => SHARED_BEHIND_PROXY.has(address))
        .map((address) =>
          warn(`A proxy at ${address} is not in TRUSTED_PROXIES: all its visitors share its address.`),
        );
    },
  };
}

/** Identifies the client of a request, as far as addresses allow. */
export type Clients = ReturnType<typeof createClients>;

/** Creates a memory for reverse proxies that no setting names, whose address everyone behind them shares. */
function createUnnamedProxies(log: Log, now: () => number) {
  /** By network, the longest unseen first. */
  const seen = new BoundedMap<string, { address: string; at: number }>(MAX_REMEMBERED);
  let warnedAt = Number.NEGATIVE_INFINITY;
  const isRecent = ({ at }: { at: number }) => elapsedSince(at, now(), 0) < REMEMBER_MS;

  return {
    note(address: string, header: string): void {
      const network = clientNetwork(address);
      seen.set(network, { address, at: now() });
      if (elapsedSince(warnedAt, now(), 0) < WARN_EVERY_MS) return;
      warnedAt = now();
      log('warn', 'a proxy in front is not in TRUSTED_PROXIES: all its visitors share its address', {
        peer: address,
        header,
      });
    },
    has(address: string): boolean {
      const found = seen.get(clientNetwork(address));
      return found !== undefined && isRecent(found);
    },
    addresses: () => [...seen.values()].filter(isRecent).map(({ address }) => address),
  };
}

/** Headers that reverse proxies add and clients do not. */
const ADDED_BY_PROXIES = [
  'x-forwarded-for',
  'forwarded',
  'x-real-ip',
  'x-forwarded-host',
  'x-forwarded-proto',
  'x-forwarded-port',
  'x-forwarded-server',
  'x-client-ip',
  'x-cluster-client-ip',
  'x-original-forwarded-for',
  'x-envoy-external-address',
  'true-client-ip',
  'cf-connecting-ip',
  'fastly-client-ip',
  'fly-client-ip',
  'client-ip',
  'via',
];

/** Returns the first header that shows a reverse proxy, or `null`. */
export function forwardedBy(headers: Headers): string | null {
  return ADDED_BY_PROXIES.find((name) => headers.has(name)) ?? null;
}

/**
 * Returns the clients named by headers other than `X-Forwarded-For`. A reverse proxy that sets one of these may pass
 * the other on as the visitor wrote it, so they should agree. Text that is not an address is returned unchanged.
 */
function reportedClients(headers: Headers): string[] {
  const realIp = headers.get('x-real-ip');
  const last = headers.get('forwarded')?.split(',').at(-1);
  const node = last === undefined ? undefined : (/(?:^|;)\s*for="?([^";]*)"?/i.exec(last)?.[1] ?? '');
  return [realIp, node].flatMap((text) => {
    if (text === null || text === undefined) return [];
    const plain = withoutPort(text.trim());
    return [canonicalAddress(plain) ?? plain];
  });
}

/** What the addresses of a request say about its client. */
interface Walk {
  /** The client's address. */
  address: string;
  /** True if the peer is a trusted proxy, whose headers are used. */
  believed: boolean;
  /** False if a skipped proxy is not trusted, or too few proxies have added an address. */
  sure: boolean;
}

/** Number of peers whose address is remembered: most requests use an open connection. */
const MAX_PEERS = 10_000;
const canonicalPeer = remember(MAX_PEERS, (peer) => canonicalAddress(peer) ?? peer);

/**
 * Finds the client: the peer of the socket or, if that is a trusted proxy, an entry of `X-Forwarded-For`, to which
 * each proxy appends. Entries are read from the right, skipping proxies that were named by address. The first other
 * entry is the client, even inside a trusted network, because visitors may also come from there. With `hops`, the
 * number of proxies in front, the client is the entry at that position.
 */
export function findClient(
  socketPeer: string,
  forwardedFor: string | null,
  trust: ProxyTrust,
  hops?: number,
): Walk {
  let address = canonicalPeer(socketPeer);
  if (!trust.has(address)) return { address, believed: false, sure: true };
  const entries = forwardedFor?.split(',') ?? [];
  let sure = true;
  for (let place = 1; ; place++) {
    const hop = canonicalAddress(withoutPort(entries.at(-place)?.trim() ?? ''));
    if (hop === null) return { address, believed: true, sure: false };
    address = hop;
    if (hops === undefined ? !trust.isNamed(hop) : place >= hops) return { address, believed: true, sure };
    if (!trust.has(hop)) sure = false;
  }
}

/** Some proxies write `203.0.113.9:4711` or `[2001:db8::1]:4711`. */
function withoutPort(entry: string): string {
  const [, bracketed, plain] = /^(?:\[([^\]]+)\](?::\d+)?|([\d.]+):\d+)$/.exec(entry) ?? [];
  return bracketed ?? plain ?? entry;
}
