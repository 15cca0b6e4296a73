import { expect, test } from 'bun:test';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { FAULTS } from '../world/faults/index.ts';

const PUT_BACK = await readFile('docs/put-back.md', 'utf8');

/** The worlds that have found a fault first, of those that only their seed decides. */
const recorded = (kind: string): string => {
  const seeds = PUT_BACK.matchAll(new RegExp(`\\| \`${kind} --from (\\d+)\` \\|`, 'g'));
  return [...new Set([...seeds].map(([, seed]) => Number(seed)))].toSorted((a, b) => a - b).join(',');
};

/** What each of two processes runs, because the machines of the gate have two cores. */
const SHARES = [
  [['images', '--only', recorded('images')]],
  [
    ['pool', '--only', recorded('pool')],
    ['bytes', '--from', '1', '--seeds', '100'],
  ],
];

/** Runs simulated worlds, and returns what they say. */
async function worlds(...args: string[]): Promise<string> {
  const child = spawn(process.execPath, ['test/world/main.ts', ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let said = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    said += text;
  });
  await once(child, 'close');
  return said;
}

test('no promise to users is broken in the worlds that have found a fault, and in a hundred of bytes', async () => {
  const run = async (share: string[][]) => {
    for (const args of share)
      expect(await worlds(...args)).toMatch(
        /^\d+ worlds with \d{2,} (pictures|proxies|inputs) in [\d.]+ s, 0 broken\n$/,
      );
  };
  await Promise.all(SHARES.map(run));
  // A table that is written in another way would leave nothing to run.
  for (const kind of ['images', 'pool']) expect(recorded(kind).split(',').length).toBeGreaterThan(5);
}, 180_000);

test('every fault can still be put back', async () => {
  for (const { name, changes } of FAULTS)
    for (const [file, from] of changes)
      expect([name, (await readFile(file, 'utf8')).includes(from)]).toEqual([name, true]);
});

test('the same seed is the same world, to the last byte', async () => {
  expect(await worlds('--from', '6', '--seeds', '1', '--twice')).toMatch(/, 0 broken\n$/);
}, 60_000);

test('a world in which nothing is told of a removal is found to be broken', async () => {
  const said = await worlds('--from', '1', '--seeds', '1', '--with', '{"deaf":true,"users":2,"copies":1}');
  expect(said).toMatch(/is gone\n[\s\S]*, 1 broken\n$/);
}, 60_000);
