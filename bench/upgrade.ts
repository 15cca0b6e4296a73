/**
 * `bun bench/upgrade.ts COMMIT [seconds]`: a fleet of that version is replaced by this one, copy by copy, while clients use it.
 * Exits with 1 where a client saw an error other than 503 with Retry-After, or where something is lost. Needs git, nginx, Redis
 * and versitygw.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { createClients } from '../test/support/history/clients.ts';
import { judge } from '../test/support/history/judge.ts';
import { lookAtTheEnd } from '../test/support/history/run.ts';
import { startHistoryWorld } from '../test/support/history/world.ts';
import { createRandom } from '../test/support/random.ts';

const COPIES = 2;
const root = resolve(import.meta.dir, '..');
const [commit, seconds = '8'] = process.argv.slice(2);
if (commit === undefined) throw new Error('Say from which commit: bun bench/upgrade.ts COMMIT');

async function run(command: string[], cwd: string): Promise<void> {
  const child = Bun.spawn(command, { cwd, stdout: 'ignore', stderr: 'pipe' });
  const said = await child.stderr.text();
  if ((await child.exited) !== 0) throw new Error(`${command.join(' ')}: ${said}`);
}

const folder = await mkdtemp(join(tmpdir(), 'picpool-upgrade-'));
const old = join(folder, 'old');
try {
  await run(['git', 'worktree', 'add', '--detach', old, commit], root);
  await run([process.execPath, 'install', '--frozen-lockfile'], old);
  await upgrade();
} finally {
  await run(['git', 'worktree', 'remove', '--force', old], root).catch(() => {});
  await rm(folder, { recursive: true, force: true });
}

async function upgrade(): Promise<void> {
  const world = await startHistoryWorld(COPIES, (incarnation) =>
    incarnation <= COPIES ? [process.execPath, join(old, 'src/main.ts')] : undefined,
  );
  try {
    const clients = createClients(world, createRandom(1));
    const ending = new AbortController();
    const using = clients.use(8, ending.signal);
    const pause = () => Bun.sleep(Number(seconds) * 1000);
    await pause();
    const ends: string[] = [];
    for (const copy of world.fleet.copies) {
      ends.push(`ended with ${await copy.end()}`);
      await copy.start();
      await pause();
    }
    ending.abort();
    await using;
    const faults = [...(await lookAtTheEnd(world, clients)), ...clients.unexpected, ...judge(clients.calls)];
    const { uploads, reads } = Object.groupBy(clients.calls, ({ kind }) => `${kind}s`);
    console.log(`${uploads?.length} uploads, ${reads?.length} reads; the old copies ${ends.join(', ')}`);
    for (const fault of faults) console.log(`  WRONG ${fault}`);
    if (faults.length > 0) process.exitCode = 1;
  } finally {
    await world.stop();
  }
}
