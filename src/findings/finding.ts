/** Something that was found out about the server, its settings or its stores. */
export interface Finding {
  /**
   * `fail`: something does not work, or must be fixed. `warn`: something may be lost, or works only in part.
   * `unknown`: it could not be found out. `open`: a choice rather than a fault.
   */
  level: 'ok' | 'open' | 'unknown' | 'warn' | 'fail';
  /** What it is about: a service, an item of the operator's panel, a judge, a list. */
  about?: string | undefined;
  /** What was found, for the operator. */
  text: string;
  /** What would be right. */
  advice?: string | undefined;
}

/** A part of the server that can be asked what is wrong with it. */
export interface FindingSource {
  /**
   * What is wrong if it does not answer. With the level `fail`, the service that it is about cannot work then; `all`
   * if none can.
   */
  silence: Finding;
  /** Resolves with what is wrong although it answers. Rejects if it does not work. */
  look: () => Promise<readonly Finding[]>;
}

/** Create findings of each level. */
export const ok = (text: string): Finding => ({ level: 'ok', text });
export const unknown = (text: string, advice?: string): Finding => ({ level: 'unknown', text, advice });
export const warn = (text: string, advice?: string): Finding => ({ level: 'warn', text, advice });
export const fail = (text: string, advice?: string): Finding => ({ level: 'fail', text, advice });

const HIDDEN =
  "Deno's permissions hide it. If DATA_DIR does not exist yet, start the server once, which creates it.";

/** Reports whether Deno's permissions do not let this program know. */
export const isHidden = (error: unknown) => error instanceof Error && error.name === 'NotCapable';

/** Creates what is shown of a check that failed. */
export const failed = (error: unknown, advice?: string): Finding =>
  fail(error instanceof Error ? error.message : String(error), isHidden(error) ? HIDDEN : advice);
