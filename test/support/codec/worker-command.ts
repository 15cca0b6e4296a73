import process from 'node:process';
import { fileURLToPath } from 'node:url';

const ENTRY = fileURLToPath(new URL('./worker.ts', import.meta.url));

/** Starts a worker under the runtime that runs this test. */
export const WORKER_COMMAND = [process.execPath, ...('Deno' in globalThis ? ['run', '-A'] : []), ENTRY];
