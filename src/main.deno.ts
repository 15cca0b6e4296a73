import process from 'node:process';
import { enter } from './cli/entry.ts';
import { denoRuntime } from './runtime/deno.ts';

await enter(denoRuntime, process.argv.slice(2), process.env);
