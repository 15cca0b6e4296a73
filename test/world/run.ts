// These three replace what the server would otherwise take from the machine, so they come before it.
import './chance.ts';
import './time.ts';
import './files.ts';

export type { Options, Result } from './world.ts';
export const { runWorld } = await import('./world.ts');
