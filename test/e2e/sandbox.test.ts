import { describe, expect, test } from 'bun:test';
import { tmpdir } from 'node:os';
import { landlockVersion } from '../../src/lib/linux/landlock.ts';
import { bunRuntime } from '../../src/runtime/bun.ts';
import { privatePhoto } from '../support/images/images.ts';
import { ATTEMPTS, NEEDED } from '../support/sandbox/attempts.ts';
import { startServer } from '../support/servers/server-process.ts';

const system = await bunRuntime.system();
/** Kernels without the means are told by `picpool doctor`; there is nothing to hold then. */
const withMeans = system !== null && landlockVersion(system) >= 3 ? describe : describe.skip;
const isRoot = process.geteuid?.() === 0;
const NOBODY = 65_534;

interface Outcome {
  attempt: string;
  outcome: string;
}

/** Runs the attempts in workers of a server of its own. */
async function tried(attempts: readonly string[], { sandbox = 'require', as = [] as string[] } = {}) {
  const host = Bun.spawn([...as, process.execPath, 'test/support/sandbox/host.ts', sandbox, ...attempts], {
    env: { PATH: process.env.PATH ?? '', HOME: tmpdir() },
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'inherit',
  });
  const lines = (await new Response(host.stdout).text()).trim().split('\n');
  const outcomes = lines.map((line) => JSON.parse(line) as Outcome & { missing?: string[]; user?: number });
  const last = outcomes.pop();
  return { outcomes, missing: last?.missing, user: last?.user };
}

const succeeded = (outcomes: readonly Outcome[]) =>
  outcomes.filter(({ outcome }) => outcome === 'succeeded').map(({ attempt }) => attempt);

withMeans('a worker that a picture has taken over', () => {
  const users: [string, string[], boolean][] = [
    ['as the user of these tests', [], true],
    ['of a server that root has started as another user', asNobody(), isRoot],
  ];
  for (const [who, as, possible] of users) {
    test.skipIf(!possible)(`${who} gets out in none of the ways that it tries`, async () => {
      const { outcomes, missing, user } = await tried(['needed', 'all'], { as });
      expect(missing).toEqual([]);
      expect(user).toBe(as.length > 0 ? NOBODY : (process.geteuid?.() ?? -1));
      expect(outcomes).toHaveLength(Object.keys(NEEDED).length + Object.keys(ATTEMPTS).length);
      expect(succeeded(outcomes)).toEqual(Object.keys(NEEDED));
      expect(outcomes.filter(({ outcome }) => !/^(succeeded|refused)/.test(outcome))).toEqual([]);
    });
  }

  test('does not outlive its deadline, or take more memory than it may; each costs its job alone', async () => {
    const [late, full] = await Promise.all([
      tried(['outlive the deadline', 'read its input']),
      tried(['fill the memory', 'read its input']),
    ]);
    expect(late.outcomes[0]?.outcome).toStartWith('The image could not be converted within');
    expect(full.outcomes[0]?.outcome).toMatch(/memory|refused|decoder fail/);
    for (const { outcomes } of [late, full]) expect(outcomes[1]?.outcome).toBe('succeeded');
  });

  test('gets out in those ways without the sandbox, so that they are real', async () => {
    const ways = [
      'read /etc/passwd',
      'read the database',
      'list the data',
      'read the picture of another job',
      'open the database to everybody',
      'write into the data',
      'connect by TCP',
      'make a UDP socket',
      'connect to a unix socket',
      'run a program',
      'signal the server',
      'slow the server down',
      'read the environment of the server',
    ];
    const { outcomes } = await tried(ways, { sandbox: 'off' });
    expect(succeeded(outcomes)).toEqual(ways);
  });
});

withMeans('a server whose profile refuses parts of the sandbox', () => {
  const LANDLOCK = 'landlock_create_ruleset,landlock_add_rule,landlock_restrict_self';
  const under = (calls: string) => [process.execPath, 'test/support/sandbox/under-profile.ts', calls];

  test.each([
    [LANDLOCK, 'partial (without: files)'],
    [`${LANDLOCK},seccomp`, 'partial (without: files, network, programs)'],
  ])('says so and converts all the same', async (calls, text) => {
    const server = await startServer('bun', { SERVICES: 'image' }, undefined, under(calls));
    expect(server.stderr()).toContain(`sandbox     ${text}`);
    const body = new Uint8Array(await privatePhoto('jpeg'));
    expect((await fetch(`${server.url}/api/upload`, { method: 'POST', body })).status).toBe(201);
    const metrics = await (await fetch(`${server.url}/metrics`)).text();
    expect(metrics).toContain('picpool_conversion_sandbox{state="partial"} 1');
    await server.stop();
  });

  test('does not start where the whole sandbox is required', async () => {
    const env = { SERVICES: 'image', IMAGE_SANDBOX: 'require' };
    await expect(startServer('bun', env, undefined, under(LANDLOCK))).rejects.toThrow(
      'IMAGE_SANDBOX=require',
    );
  });
});

function asNobody(): string[] {
  return ['setpriv', `--reuid=${NOBODY}`, `--regid=${NOBODY}`, '--clear-groups'];
}
