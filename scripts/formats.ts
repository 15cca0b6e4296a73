/**
 * Uploads a sample of every form of every documented format to real servers, and says which does not become what it must:
 *
 *   bun scripts/formats.ts [bun|deno|binary|FOLDER...]
 *
 * All three where none is named. With a folder, of test images of other projects for instance, each of its files is uploaded to a
 * server on Bun, and those that are refused are printed with the reason.
 */
import { mkdtemp, readFile, rm } from 'node:fs/promises';
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
  error?: string;
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
  const places = asked.length === 0 ? PLACES : asked.filter((word) => PLACES.includes(word));
  for (const place of places) await withServer(place, judgeAll);
  const folders = asked.filter((word) => !PLACES.includes(word));
  for (const folder of folders) await withServer('bun', (server) => uploadAll(folder, server));
} finally {
  await rm(scratch, { recursive: true });
}
process.exit(faulty > 0 ? 1 : 0);

async function withServer(place: string, work: (server: ServerProcess, place: string) => Promise<void>) {
  const server = await startServer(await commandOf(place), SETTINGS);
  try {
    await work(server, place);
  } finally {
    await server.stop();
  }
}

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

async function upload(server: ServerProcess, bytes: Buffer, query: URLSearchParams): Promise<Answer> {
  const answer = await fetch(`${server.url}/api/upload?${query}`, {
    method: 'POST',
    body: new Uint8Array(bytes),
  });
  return (await answer.json()) as Answer;
}

async function outcomeOf(server: ServerProcess, bytes: Buffer, query: URLSearchParams): Promise<Outcome> {
  const answer = await upload(server, bytes, query);
  if (answer.code !== undefined) return { refused: answer.code };
  const file = await fetch(answer.raw_url ?? '');
  return {
    ...answer,
    warnings: answer.warnings.map(({ code }) => code),
    bytes: Buffer.from(await file.arrayBuffer()),
  };
}

async function uploadAll(folder: string, server: ServerProcess): Promise<void> {
  const files = (await Array.fromAsync(new Bun.Glob('**/*').scan({ cwd: folder }))).sort();
  let taken = 0;
  for (const file of files) {
    const { error } = await upload(server, await readFile(join(folder, file)), new URLSearchParams());
    if (error === undefined) taken++;
    else console.log(`${file}: ${error}`);
  }
  console.log(`${taken} of ${files.length} files are accepted`);
}
