/** What a store's settings make uncertain. */
export interface Risk {
  /** `broken`: nothing can be stored. `loss`: what was acknowledged may be lost. `unknown`: it may not be asked. */
  kind: 'broken' | 'loss' | 'unknown';
  /** What was found, in a sentence. */
  text: string;
  /** What would be right. */
  advice: string;
}
