import type { LookupFunction } from 'node:net';
import { canonicalAddress, isHostName } from '../lib/address.ts';
import { resolveHost } from '../lib/resolve-host.ts';
import type { DialOptions, Tcp } from '../runtime/tcp.ts';

interface ByNameOptions extends Pick<DialOptions, 'context'> {
  /** Returns why an address must not be dialled, or `null` if it may be. */
  refusalOf: (place: { ip: string; port: number }) => string | null;
  /** Resolves a name to all its addresses. Default: the system's resolver. */
  resolve?: (host: string) => Promise<readonly { address: string }[]>;
}

/**
 * Dials proxies by address or name. A name is looked up at each dial. All its addresses must be ones that may be
 * dialled, and the address that was judged is dialled, so that a name that changes gains nothing.
 */
export function dialByName<T extends Pick<Tcp, 'dial'>>(
  tcp: T,
  { refusalOf, context, resolve = resolveHost }: ByNameOptions,
): T {
  async function addressOf(host: string, port: number): Promise<string> {
    const found = (await resolve(host)).map(({ address }) => canonicalAddress(address) ?? address);
    const refusal = found.map((ip) => refusalOf({ ip, port })).find((reason) => reason !== null);
    const [first] = found;
    if (first === undefined || refusal !== undefined) throw new Error(refusal ?? 'no address');
    return first;
  }

  const dial: Tcp['dial'] = (host, port, listener, { tls } = {}) => {
    // The socket's own lookup, so what passes here is what it connects to.
    const lookup: LookupFunction = (_name, _options, done) => {
      addressOf(host, port).then(
        (address) => done(null, address, address.includes(':') ? 6 : 4),
        (error) => done(error, ''),
      );
    };
    return tcp.dial(host, port, listener, { tls, context, ...(isHostName(host) && { lookup }) });
  };
  return { ...tcp, dial };
}
