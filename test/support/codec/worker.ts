import process from 'node:process';
import { runConversionProcess } from '../../../src/codec/workers/process.ts';
import { WORKER_COMMAND } from './worker-command.ts';

const runtime =
  'Deno' in globalThis
    ? (await import('../../../src/runtime/deno.ts')).denoRuntime
    : (await import('../../../src/runtime/bun.ts')).bunRuntime;
const [name = 'convert-worker', ...args] = process.argv.slice(2);
await runConversionProcess(name, args, {
  system: await runtime.system(),
  command: WORKER_COMMAND,
  env: process.env,
});
