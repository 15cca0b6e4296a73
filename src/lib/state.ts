/** Small named values that outlive the process and are shared by all copies: secrets, job reports, last runs. */
export interface StateStore {
  /** The value, or `null` when none was set. */
  get(key: string): Promise<string | null>;
  /** Sets or replaces the value. */
  set(key: string, value: string): Promise<void>;
  /** Sets the value only if there is none; returns the value stored afterwards. Atomic. */
  getOrSet(key: string, value: string): Promise<string>;
  /**
   * Sets the value for the holder of a lease; false, and nothing is set, where a holder with a larger token has set
   * it before. Atomic.
   */
  setFenced(key: string, value: string, token: number): Promise<boolean>;
  /** The names of all values, in any order. */
  keys(): Promise<string[]>;
}
