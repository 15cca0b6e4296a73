/**
 * A worker that a picture has taken over: started by the real launcher, with its libraries loaded and the sandbox closed, it
 * tries what its first job says instead of converting it, and answers how that went.
 */
import { readFileSync } from 'node:fs';
import process from 'node:process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { loadSharp } from '../../../src/codec/convert/sharp.ts';
import { confine } from '../../../src/codec/sandbox/confine.ts';
import { LAUNCHER, launch } from '../../../src/codec/sandbox/launch.ts';
import type { WorkerReply, WorkerRequest } from '../../../src/codec/workers/protocol.ts';
import { ATTEMPTS, ENDLESS, NEEDED, type Target } from './attempts.ts';
import { commandOf, runtime } from './runtime.ts';

const [name, ...args] = process.argv.slice(2);
const system = await runtime.system();
if (!system) throw new Error('This needs Linux.');
if (name === LAUNCHER) {
  await launch({
    system,
    command: commandOf(fileURLToPath(import.meta.url)),
    env: process.env,
    args,
  });
}
await loadSharp();
const [, memory] = args;
const missing = memory === undefined ? [] : confine(system, Number(memory));
const reply = (message: WorkerReply) => process.stdout.write(`${JSON.stringify(message)}\n`);
reply({ ready: true, missing });
for await (const line of createInterface({ input: process.stdin })) {
  const { id, job } = JSON.parse(line) as WorkerRequest;
  reply({ began: id });
  // After the header of a GIF, by which it came in.
  const text = readFileSync(job.input, 'utf8').slice('GIF89a'.length);
  const { attempt, target } = JSON.parse(text) as { attempt: string; target: Target };
  const run = { ...ATTEMPTS, ...ENDLESS, ...NEEDED }[attempt];
  let outcome: string;
  try {
    const done = await run?.({ ...target, input: job.input, output: job.output }, system);
    outcome = done === true ? 'succeeded' : `refused: ${done}`;
  } catch (error) {
    outcome = `refused: ${error instanceof Error ? error.message : error}`;
  }
  reply({ id, failed: { code: 'internal', said: { template: outcome.slice(0, 300), values: {} } } });
}
