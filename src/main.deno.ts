import process from 'node:process';
import { run } from './cli/run.ts';
import { denoRuntime } from './runtime/deno.ts';

await run(denoRuntime, process.argv.slice(2), process.env);
