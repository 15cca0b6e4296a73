/** A risk in a store's settings. */
export interface Risk {
  /**
   * `broken`: nothing can be stored. `loss`: acknowledged changes may be lost. `unknown`: the store does not reveal
   * the setting.
   */
  kind: 'broken' | 'loss' | 'unknown';
  /** What was found, as a sentence. */
  text: string;
  /** What would be right. */
  advice: string;
}
