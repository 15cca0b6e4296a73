/**
 * Uploads a sample of every form of every documented format to real servers, and says which does not become what it must:
 *
 *   bun scripts/formats.ts [bun|deno|binary...]
 *
 * All three if none is named. What is refused of other pictures, `bench/readable.ts` prints.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { judgeSample, type Outcome } from '../test/support/images/judge-sample.ts';
import { SAMPLES } from '../test/support/images/samples.ts';
import { type ServerProcess, startServer } from '../test/support/servers/server-process.ts';
import { compile } from './build/compile.ts';
import { chooseTargets } from './build/targets.ts';

/** Of the answer to an upload. */
interface Answer {
  code?: string;
  raw_url?: string;
  format: string;
  width: number;
  height: number;
  frames: number;
  warnings: { code: string }[];
}

const SETTINGS = {
  RATE_LIMITS: 'off',
  PROXY_JUDGES: 'http://127.0.0.1:9/',
  PROXY_SOURCES: 'http://127.0.0.1:9/',
  IMAGE_CONVERT_TIMEOUT: '2m',
};
const PLACES = ['bun', 'deno', 'binary'];

const scratch = await mkdtemp(join(tmpdir(), 'picpool-formats-'));
let faulty = 0;
try {
  const asked = process.argv.slice(2);
  const unknown = asked.find((word) => !PLACES.includes(word));
  if (unknown !== undefined) throw new Error(`${unknown} is not one of ${PLACES.join(', ')}.`);
  for (const place of asked.length === 0 ? PLACES : asked) {
    const server = await startServer(await commandOf(place), SETTINGS);
    await judgeAll(server, place).finally(server.stop);
  }
} finally {
  await rm(scratch, { recursive: true });
}
process.exit(faulty > 0 ? 1 : 0);

async function commandOf(place: string): Promise<'bun' | 'deno' | string[]> {
  if (place === 'bun' || place === 'deno') return place;
  const [target] = chooseTargets(undefined);
  if (!target) throw new Error('There is no binary for this machine.');
  const { path } = await compile({
    root: resolve(import.meta.dir, '..'),
    target,
    path: join(scratch, 'picpool'),
  });
  return [path];
}

async function judgeAll(server: ServerProcess, place: string): Promise<void> {
  let right = 0;
  for (const sample of SAMPLES) {
    const { format = 'png', stripExif = true } = sample.ask ?? {};
    const query = new URLSearchParams({ format, strip_exif: String(stripExif) });
    const faults = await judgeSample(sample, await outcomeOf(server, await sample.make(), query));
    if (faults.length === 0) right++;
    else console.log(`${place}: ${sample.name}: ${faults.join('; ')}`);
  }
  faulty += SAMPLES.length - right;
  console.log(`${place}: ${right} of ${SAMPLES.length} samples are right`);
}

async function outcomeOf(server: ServerProcess, bytes: Buffer, query: URLSearchParams): Promise<Outcome> {
  const body = new Uint8Array(bytes);
  const asked = await fetch(`${server.url}/api/upload?${query}`, { method: 'POST', body });
  const answer = (await asked.json()) as Answer;
  if (answer.code !== undefined) return { refused: answer.code };
  const file = await fetch(answer.raw_url ?? '');
  return {
    ...answer,
    warnings: answer.warnings.map(({ code }) => code),
    bytes: Buffer.from(await file.arrayBuffer()),
  };
}
