import process from 'node:process';
import { enter } from './cli/entry.ts';
import { denoRuntime } from './runtime/deno.ts';

// Libraries read it while they are loaded. In development they prepare long explanations of each error.
process.env.NODE_ENV = 'production';
await enter(denoRuntime, process.argv.slice(2), process.env);
