import { type Finding, warn } from '../../findings/finding.ts';
import { clientNetwork, createNetworkList } from '../../lib/address.ts';
import { BoundedMap } from '../../lib/bounded-map.ts';
import type { Log } from '../../lib/logger.ts';
import { elapsedSince } from '../../lib/stored-time.ts';
import { forwardedBy, reportedClients } from './forwarding-headers.ts';
import type { ProxyTrust } from './proxy-trust.ts';
import { findClient } from './walk.ts';

/** Identifies the client of a request, as far as addresses allow. */
export interface Clients {
  /** True if no peer is trusted. */
  readonly trustNobody: boolean;
  /** Reports whether the forwarding headers of this peer are trusted. */
  isTrusted(socketPeer: string): boolean;
  /** Returns the client's address, for limits, blocks and the log. */
  addressOf(socketPeer: string, headers: Headers): string;
  /**
   * Returns the client's address if only one client has it, otherwise `null`, which gives no rights. Returns `null`
   * if anything suggests that others use the same address.
   */
  identityOf(socketPeer: string, headers: Headers): string | null;
  /** Reports whether the client is on this machine and does not seem to forward requests of others. */
  isDirect(socketPeer: string, headers: Headers): boolean;
  /** Returns problems for the operator to fix. Untrusted clients cannot cause them. */
  findings(): Promise<Finding[]>;
}

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

const LOOPBACK = createNetworkList(['127.0.0.0/8', '::1']);

/** How long the address of an unnamed reverse proxy gives no rights, in ms, and how many are remembered. */
const REMEMBER_MS = 24 * 3_600_000;
const MAX_REMEMBERED = 10_000;
const WARN_EVERY_MS = 3_600_000;

export function createClients({ trust, hops, isShared = () => false, log, now }: ClientsOptions): Clients {
  const unnamed = createUnnamedProxies(log, now);

  const identityOf: Clients['identityOf'] = (socketPeer, headers) => {
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
    identityOf,
    isTrusted: (socketPeer) => trust.has(findClient(socketPeer, null, trust).address),

    addressOf(socketPeer, headers) {
      const forwardedFor = headers.get('x-forwarded-for');
      const { address, believed } = findClient(socketPeer, forwardedFor, trust, hops);
      if (!believed && forwardedFor !== null) unnamed.note(address, 'x-forwarded-for');
      return address;
    },

    isDirect(socketPeer, headers) {
      const { address, believed } = findClient(socketPeer, null, trust);
      // nginx sends this to a server behind it by default, and browsers never do.
      const isRelayed = headers.get('connection')?.toLowerCase() === 'close';
      return LOOPBACK.has(address) && !believed && !isRelayed && identityOf(socketPeer, headers) === address;
    },

    async findings() {
      return unnamed
        .addresses()
        .filter((address) => SHARED_BEHIND_PROXY.has(address))
        .map((address) =>
          warn(`A proxy at ${address} is not in TRUSTED_PROXIES: all its visitors share its address.`),
        );
    },
  };
}

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
