import { promises as dns } from 'node:dns';
import type { LookupFunction } from 'node:net';
import { inEnglish } from '../errors.ts';
import { createSemaphore } from './semaphore.ts';

interface HostAddress {
  address: string;
  family: 4 | 6;
}

const UNKNOWN = new Set(['ENOTFOUND', 'ENODATA']);

/** Reports whether the failure of a lookup says that the name has no address. Any other may be our name server's. */
export function isUnknownName(error: NodeJS.ErrnoException | undefined): boolean {
  return UNKNOWN.has(error?.code ?? '');
}

/**
 * One lookup by the system at a time: each occupies a thread until the name server answers, or for ten seconds, and
 * on a machine with two cores Bun has two threads for lookups and all files.
 */
const oneAtATime = createSemaphore(1, {
  maxWaiting: 1000,
  message: inEnglish("Too many names are waiting for the system's resolver."),
});

/**
 * Returns all addresses of a name. Asks the name server directly, because the system's resolver occupies one of few
 * threads as long as the server is silent: a handful of names that do not resolve would block all file access of the
 * process. Names without a dot, which are local, and names that DNS does not know are resolved by the system.
 */
export async function resolveHost(host: string): Promise<HostAddress[]> {
  if (!host.includes('.')) return askSystem(host);
  const [four, six] = await Promise.allSettled([dns.resolve4(host), dns.resolve6(host)]);
  const found = [...addresses(four, 4), ...addresses(six, 6)];
  if (found.length > 0) return found;
  for (const outcome of [four, six]) {
    if (outcome.status === 'rejected' && !isUnknownName(outcome.reason)) throw outcome.reason;
  }
  // The name server does not know the name, but the hosts file may.
  return askSystem(host);
}

async function askSystem(host: string): Promise<HostAddress[]> {
  const found = await oneAtATime(() => dns.lookup(host, { all: true }));
  return found.map(({ address, family }) => ({ address, family: family === 6 ? 6 : 4 }));
}

/** `resolveHost` in the form that sockets accept. */
export const lookupHost: LookupFunction = (host, options, callback) => {
  resolveHost(host).then(
    (found) => {
      const [first] = found;
      if (options.all || !first) callback(null, found);
      else callback(null, first.address, first.family);
    },
    (error: NodeJS.ErrnoException) => callback(error, []),
  );
};

function addresses(outcome: PromiseSettledResult<string[]>, family: 4 | 6): HostAddress[] {
  return outcome.status === 'fulfilled' ? outcome.value.map((address) => ({ address, family })) : [];
}
