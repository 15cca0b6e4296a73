import { inEnglish } from '../errors.ts';
import { createShares } from '../lib/shares.ts';
import type { Matched } from './route-table.ts';

/** Takes a place among the requests of one client that are being answered; see `Shares.enter`. */
export type InFlight = (client: string, route: Pick<Matched, 'bytes'>) => () => void;

/** A browser has six connections to a server, a program that fetches in parallel some dozens. */
const MOST_REQUESTS = 256;
/** Each takes some 3 MiB while it arrives. */
const MOST_UPLOADS = 32;

/** Cached answers take no place, because they are sent at once. */
export function createInFlight(): InFlight {
  const requests = createShares({
    each: MOST_REQUESTS,
    fullMessage: inEnglish(
      `More than ${MOST_REQUESTS} of your requests are being answered; wait for one to end.`,
    ),
  });
  const uploads = createShares({
    each: MOST_UPLOADS,
    fullMessage: inEnglish(`More than ${MOST_UPLOADS} of your uploads are arriving; wait for one to end.`),
  });
  return (client, { bytes }) => (bytes === null ? requests : uploads).enter(client);
}
