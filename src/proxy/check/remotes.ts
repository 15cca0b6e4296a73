import type { Remote, RemoteOptions, RemoteState } from './remote.ts';

/** How long a failed one is left out while another one works. */
const LEFT_OUT_MS = 5 * 60_000;

/** `none`: none is configured; `unknown`: before the first question; `up`: at least one answers. */
export type RemotesState = 'none' | 'unknown' | 'up' | 'down';

/** The options that judges and witnesses share. */
export type RemotesOptions = Pick<
  RemoteOptions<unknown>,
  'allowPrivate' | 'questionGapMs' | 'resolve' | 'watch' | 'now' | 'monotonic' | 'log'
>;

interface Owner {
  readonly remote: Remote<unknown>;
}

/** Reports whether it is known to have worked at `since` (monotonic) or later. Asks it if that is possible soon. */
export async function confirm(remote: Remote<unknown>, since: number): Promise<boolean> {
  if (remote.provenUpAt < since) await remote.ask();
  return remote.provenUpAt >= since;
}

/** Asks again in the background if an answer is older than `freshMs`, or a failed one was left out long enough. */
export function renew(owners: readonly Owner[], now: number, freshMs: number): void {
  const found = owners.some(({ remote }) => remote.up);
  for (const { remote } of owners) {
    const dueMs = remote.up ? freshMs : found ? LEFT_OUT_MS : 0;
    if (now - remote.askedAt >= dueMs && remote.waitMs() === 0 && !remote.isBusy()) void remote.ask();
  }
}

/** Asks all that may be asked now, and waits for all answers. */
export async function probe(owners: readonly Owner[]): Promise<void> {
  await Promise.all(
    owners.map(({ remote }) => (remote.waitMs() === 0 && !remote.isBusy() ? remote.ask() : remote.settled())),
  );
}

/** Resolves as soon as one of those being asked is up, or all have failed. */
export async function firstUp(owners: readonly Owner[]): Promise<void> {
  const asked = owners.filter(({ remote }) => remote.isBusy());
  // With none, `Promise.any` would create an error with a stack for each check.
  if (asked.length === 0) return;
  const hopes = asked.map(async ({ remote }) => {
    await remote.settled();
    if (!remote.up) throw new Error('down');
  });
  await Promise.any(hopes).catch(() => {});
}

export function stateOf(states: readonly RemoteState[]): RemotesState {
  if (states.length === 0) return 'none';
  if (states.some(({ up }) => up)) return 'up';
  return states.some(({ checkedAt }) => checkedAt !== null) ? 'down' : 'unknown';
}
