import type { Log } from './logger.ts';

/** Small named values that outlive the process and are shared by all copies: secrets, job reports, last runs. */
export interface StateStore {
  /** Returns the value, or `null` if none was set. */
  get(key: string): Promise<string | null>;
  set(key: string, value: string): Promise<void>;
  /** Sets the value only if there is none; returns the value stored afterwards. Atomic. */
  getOrSet(key: string, value: string): Promise<string>;
  /**
   * Sets the value for the holder of a lease. Returns false, and sets nothing, if a holder with a larger token has
   * set it before. Atomic.
   */
  setFenced(key: string, value: string, token: number): Promise<boolean>;
  /** Removes the value and its token, if there are any; for the holder of a lease only if none with a larger token has set it. */
  remove(key: string, token?: number): Promise<void>;
  /** Returns the names of all values, in any order. */
  keys(): Promise<string[]>;
}

/** Key in old records that `picpool migrate` copied: when a server last ran on them, as it noted, and where to, without the password. */
export const MOVED = 'migrated-to';
/** Key in records that are being restored: the backup, with which alone an interrupted restore is continued. */
export const UNFINISHED = 'restore-unfinished';

/** Removes the marks of commands from records that a server uses from now on. */
export async function removeMarks(state: Pick<StateStore, 'get' | 'remove'>, log: Log): Promise<void> {
  const backup = await state.get(UNFINISHED);
  if (backup !== null)
    log('error', 'a restore was unfinished: only empty stores get the rest of its records', { backup });
  for (const mark of [MOVED, UNFINISHED]) if ((await state.get(mark)) !== null) await state.remove(mark);
}
