import type { LookupFunction } from 'node:net';
import { canonicalAddress, isHostName } from '../lib/address.ts';
import { resolveHost } from '../lib/resolve-host.ts';
import type { DialOptions, Tcp } from '../runtime/tcp.ts';

interface ByNameOptions extends Pick<DialOptions, 'context'> {
  /** Reports whether an address must not be dialled. */
  isRefused: (place: { ip: string; port: number }) => boolean;
  /** Resolves a name to all its addresses. Default: the system's resolver. */
  resolve?: (host: string) => Promise<readonly { address: string }[]>;
}

/**
 * Dials proxies by address or name. A name is looked up at each dial. All its addresses must be ones that may be
 * dialled, and the address that was judged is dialled, so that a name that changes gains nothing.
 */
export function dialByName<T extends Pick<Tcp, 'dial'>>(
  tcp: T,
  { isRefused, context, resolve = resolveHost }: ByNameOptions,
): T {
  async function addressOf(host: string, port: number): Promise<string> {
    const found = (await resolve(host)).map(({ address }) => canonicalAddress(address) ?? address);
    const [first] = found;
    if (first === undefined || found.some((ip) => isRefused({ ip, port })))
      throw new Error('no address that may be dialled');
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
