import { createRandom } from '../random.ts';

/** What browsers and programs send with a request for a picture, and how many of a hundred send it. */
const ACCEPTS: [string, number][] = [
  ['image/avif,image/webp,image/apng,image/svg+xml,image/*,*/*;q=0.8', 65],
  [
    'image/webp,image/avif,image/jxl,image/heic,image/heic-sequence,video/*;q=0.8,image/png,image/svg+xml,image/*;q=0.8,*/*;q=0.5',
    20,
  ],
  ['image/avif,image/webp,image/png,image/svg+xml,image/*;q=0.8,*/*;q=0.5', 5],
  ['text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8', 5],
  ['*/*', 5],
];

/** A request for a picture. */
export interface Look {
  /** Which picture, from 0. */
  picture: number;
  kind: 'file' | 'version' | 'auto' | 'range' | 'known' | 'head';
  accept: string;
}

/** How many of a hundred are of a kind. */
const SHARES: [Look['kind'], number][] = [
  ['file', 55],
  ['version', 20],
  ['auto', 15],
  ['known', 5],
  ['range', 3],
  ['head', 2],
];

/** So many looks at pictures, of which the one at rank n is looked at 1/n as often as the first (Zipf's law). */
export function dayOfLooks(looks: number, pictures: number, seed: number): Look[] {
  const random = createRandom(seed);
  const weights = Array.from({ length: pictures }, (_, rank) => 1 / (rank + 1));
  const choose = <T>(items: readonly (readonly [T, number])[]): T => {
    let left = random() * items.reduce((sum, [, weight]) => sum + weight, 0);
    for (const [item, weight] of items) {
      left -= weight;
      if (left < 0) return item;
    }
    throw new Error('nothing to choose from');
  };
  const ranks = weights.map((weight, rank) => [rank, weight] as const);
  return Array.from({ length: looks }, () => ({
    picture: choose(ranks),
    kind: choose(SHARES),
    accept: choose(ACCEPTS),
  }));
}
