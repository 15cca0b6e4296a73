/** A change of the tree that puts a fault back, and what must then fail. */
export interface PutBack {
  /** What users would see. */
  name: string;
  changes: readonly Change[];
  /** Arguments of `bun`, or the simulated worlds of which one must be broken. */
  proof: string[] | keyof typeof WORLDS;
}

/** A text of the file, and what takes its place. */
type Change = readonly [file: string, from: string, to: string];

/** Arguments of `test/world/main.ts`. */
export const WORLDS = {
  images: ['images'],
  /** Over the real adapters for SQLite and folders. */
  real: ['images', '--with', '{"real":true}'],
  /** The same with one copy, which dies every few minutes. */
  alone: ['images', '--with', '{"real":true,"copies":1,"deathEveryMs":300000}'],
  /** Over stores that often hang, answer late, or lose an answer. */
  hanging: [
    'images',
    '--with',
    '{"trouble":{"refused":0,"lost":0.04,"late":0.02,"hangs":0.06,"death":0},"disaster":false,"full":null}',
  ],
  /** Over such stores, and copies die every few minutes. */
  dying: [
    'images',
    '--with',
    '{"deathEveryMs":400000,"trouble":{"refused":0,"lost":0.04,"late":0.02,"hangs":0.06,"death":0.003},"disaster":false,"full":null}',
  ],
  pool: ['pool'],
  bytes: ['bytes'],
};

/** Returns the maker of faults that must all be found by this proof. */
export const faultFor =
  (proof: PutBack['proof']) =>
  (name: string, ...changes: Change[]): PutBack => ({ name, changes, proof });

export const IMAGE = 'src/image';
