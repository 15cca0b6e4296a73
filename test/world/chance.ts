/** Everything that is left to chance in the simulated world follows from one seed. Import this before the server. */
import { createRequire } from 'node:module';
import { createRandom } from '../support/random.ts';

const load = createRequire(import.meta.url);
let draw = createRandom(0);

/** Starts again from a seed. */
export function resetChance(seed: number): void {
  draw = createRandom(seed);
}

/** From 0 to 1. */
export const chance = () => draw();
export const happens = (probability: number) => draw() < probability;
export const between = (least: number, most: number) => least + draw() * (most - least);
export const whole = (least: number, most: number) => Math.floor(between(least, most + 1));

/** One of them. */
export function oneOf<T>(some: readonly T[]): T {
  return some[Math.floor(draw() * some.length)] as T;
}

/** Random bytes. */
export const bytes = (length: number) => Buffer.from(Array.from({ length }, () => Math.floor(draw() * 256)));

const uuid = () => {
  const hex = bytes(16).toString('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20)}`;
};
Object.assign(load('node:crypto'), { randomUUID: uuid, randomBytes: bytes });
Math.random = chance;
