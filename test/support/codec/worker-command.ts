import process from 'node:process';
import { fileURLToPath } from 'node:url';

const ENTRY = fileURLToPath(new URL('./worker.ts', import.meta.url));

const onDeno = 'Deno' in globalThis;
const source = [process.execPath, ...(onDeno ? ['run', '-A'] : []), ENTRY];

/** Starts a worker under the runtime that runs this test, or the compiled program's, which starts in a third of the time. */
export const WORKER_COMMAND = onDeno || !process.env.PICPOOL_BINARY ? source : [process.env.PICPOOL_BINARY];
