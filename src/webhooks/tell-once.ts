import type { Locks } from '../lib/locks.ts';
import type { StateStore } from '../lib/state.ts';

const LOCK_TTL_MS = 10_000;

interface Change {
  state: Pick<StateStore, 'get' | 'setFenced'>;
  locks: Locks;
  /** State key: the last event sent. */
  key: string;
  /** Whether the problem exists. */
  on: boolean;
}

/** Sends an event for a change that every copy of the server sees, from only one of them. */
export async function tellOnce({ state, locks, key, on }: Change, tell: () => void): Promise<void> {
  const lease = await locks.acquire(key, LOCK_TTL_MS);
  if (!lease) return;
  try {
    const told = (await state.get(key)) === 'true';
    if (told === on || !(await state.setFenced(key, String(on), lease.token))) return;
    tell();
  } finally {
    await lease.release();
  }
}
