import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { parseConfig } from '../../src/config.ts';
import { bunRuntime } from '../../src/runtime/bun.ts';
import { start } from '../../src/start.ts';
import { runProgram } from './program.ts';
import type { Findings } from './step.ts';

/** Under which names a server describes its API. */
const DESCRIPTIONS = ['openapi.json', 'openapi-3.0.json'];

/** What the linter may say: a form of a page leads to another page, and never to a success of its own. */
const WAIVED = ['operation-2xx-response #/paths/~1i~1{file}~1lock/post/responses'];

interface Problem {
  ruleId: string;
  severity: string;
  message: string;
  location: { source: { ref: string }; pointer: string }[];
}

/** Lints the API descriptions as a server serves them. Warnings count as faults. */
export async function checkOpenApi(): Promise<Findings> {
  const scratch = await mkdtemp(join(tmpdir(), 'picpool-openapi-'));
  try {
    const files = await writeDescriptions(scratch);
    const findings = await Promise.all(files.map(lint));
    return {
      read: findings.reduce((sum, { read }) => sum + read, 0),
      faults: findings.flatMap(({ faults }) => faults),
    };
  } finally {
    await rm(scratch, { recursive: true });
  }
}

async function lint(file: string): Promise<Findings> {
  const rules = ['--extends', 'recommended', '--max-problems', '1000', '--format', 'json'];
  const { stdout } = await runProgram(['bun', '--bun', 'x', 'redocly', 'lint', ...rules, file]);
  const { problems } = JSON.parse(stdout) as { problems: Problem[] };
  return { read: await countOperations(file), faults: problems.flatMap(faultOf) };
}

function faultOf({ ruleId, severity, message, location }: Problem): string[] {
  const [place] = location;
  if (WAIVED.includes(`${ruleId} ${place?.pointer}`)) return [];
  return [`${basename(place?.source.ref ?? '')} ${place?.pointer}: ${severity} ${ruleId}: ${message}`];
}

async function countOperations(file: string): Promise<number> {
  const { paths } = (await Bun.file(file).json()) as { paths: Record<string, object> };
  return Object.values(paths).reduce((sum, operations) => sum + Object.keys(operations).length, 0);
}

/** Writes the API descriptions of a server with both services, as served, to `into`. Returns the files. */
async function writeDescriptions(into: string): Promise<string[]> {
  const folder = await mkdtemp(join(tmpdir(), 'picpool-openapi-'));
  const config = parseConfig({
    HOST: '127.0.0.1',
    PORT: '0',
    DATA_DIR: folder,
    METADATA_URL: 'sqlite::memory:',
    PROXY_REFRESH_ON_START: 'false',
  });
  const server = await start(bunRuntime, config, () => {});
  try {
    return await Promise.all(
      DESCRIPTIONS.map(async (name) => {
        const answer = await fetch(`${server.url}/${name}`);
        await writeFile(join(into, name), JSON.stringify(await answer.json(), null, 2));
        return join(into, name);
      }),
    );
  } finally {
    await server.stop();
    await rm(folder, { recursive: true });
  }
}
