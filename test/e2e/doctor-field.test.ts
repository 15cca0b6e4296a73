import { expect, test } from 'bun:test';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { startProxyWorld } from '../support/farm/proxy-world.ts';
import { cli } from '../support/servers/cli.ts';
import { shared, sharedFolder } from '../support/shared.ts';

interface Tried {
  name: string;
  works: boolean;
}
interface Report {
  lists: Tried[];
  judges: Tried[];
  witnesses: Tried[];
  alive: Record<string, number>;
  gateway: { requests: number; served: number };
}

const world = shared(startProxyWorld);
const folder = await sharedFolder();

test('doctor --field tries lists, judges, witnesses and a gateway, and writes no address and nothing of its user', async () => {
  const path = join(folder, 'report.json');
  const env = {
    ...world.env,
    DATA_DIR: join(folder, 'data'),
    METADATA_URL: 'redis://:secret-word@127.0.0.1:9',
  };
  const { code, stdout, stderr } = await cli(['doctor', '--field', path, '--for', '30s'], { env });
  expect([code, stderr]).toEqual([0, '']);
  expect(stdout).toContain(`report in ${path}`);
  const text = await readFile(path, 'utf8');
  const report = JSON.parse(text) as Report;
  expect(report.lists.filter(({ works }) => !works)).toHaveLength(1);
  expect(report.lists.length).toBe(world.lists.length + 1);
  for (const part of [report.judges, report.witnesses]) {
    expect(part.length).toBeGreaterThan(0);
    expect(part.every(({ works }) => works)).toBe(true);
  }
  const alive = Object.values(report.alive).reduce((sum, count) => sum + count, 0);
  expect(alive).toBeGreaterThanOrEqual(world.working.length);
  expect(report.gateway.requests).toBeGreaterThan(10);
  expect(report.gateway.served).toBeGreaterThan(report.gateway.requests / 2);
  expect(text).not.toMatch(/\d+\.\d+\.\d+\.\d+|secret-word|localhost|picpool-world/);
  for (const { name } of [...report.lists, ...report.judges, ...report.witnesses]) expect(name).toBe('own');
}, 90_000);
