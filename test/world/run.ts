// These three replace what the server would otherwise take from the machine, so they come before it.
import './chance.ts';
import './time.ts';
import './files.ts';

export type { Result } from './world.ts';

/** The worlds that there are, by name. */
export const WORLDS = {
  images: (await import('./world.ts')).runWorld,
  bytes: (await import('./bytes.ts')).runBytes,
  pool: (await import('./pool.ts')).runPool,
};
