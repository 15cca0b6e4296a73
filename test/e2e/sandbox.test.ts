import { describe, expect, test } from 'bun:test';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { landlockVersion } from '../../src/lib/linux/landlock.ts';
import { bunRuntime } from '../../src/runtime/bun.ts';
import { privatePhoto } from '../support/images/images.ts';
import { ATTEMPTS, NEEDED } from '../support/sandbox/attempts.ts';
import { COMMANDS, logInto, type RuntimeName, startServer } from '../support/servers/server-process.ts';
import { until } from '../support/stores/services.ts';
import { withFolder } from '../support/temporary.ts';

const system = await bunRuntime.system();
/** Kernels without the means are told by `picpool doctor`; there is nothing to hold then. */
const withMeans = system !== null && landlockVersion(system) >= 3 ? describe : describe.skip;
const isRoot = process.geteuid?.() === 0;
const NOBODY = 65_534;
const RUNTIMES: RuntimeName[] = ['bun', 'deno'];

interface Outcome {
  attempt: string;
  outcome: string;
}

/** Runs the attempts in workers of a server of its own; `program`: what runs it, before its script. */
async function tried(program: readonly string[], attempts: readonly string[], sandbox = 'require') {
  const host = Bun.spawn([...program, 'test/support/sandbox/host.ts', sandbox, ...attempts], {
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

withMeans.each(RUNTIMES)('on %s, a worker that a picture has taken over', (runtime) => {
  const program = runtime === 'bun' ? [process.execPath] : COMMANDS.deno.slice(0, -1);
  const users: [string, string[], boolean][] = [
    ['as the user of these tests', [], true],
    ['of a server that root has started as another user', asNobody(), isRoot],
  ];
  for (const [who, as, possible] of users) {
    test.skipIf(!possible)(`${who} gets out in none of the ways that it tries`, async () => {
      const { outcomes, missing, user } = await tried([...as, ...program], ['needed', 'all']);
      expect(missing).toEqual([]);
      expect(user).toBe(as.length > 0 ? NOBODY : (process.geteuid?.() ?? -1));
      expect(outcomes).toHaveLength(Object.keys(NEEDED).length + Object.keys(ATTEMPTS).length);
      expect(succeeded(outcomes)).toEqual(Object.keys(NEEDED));
      const odd = outcomes.filter(({ outcome }) => !/^(succeeded|refused)/.test(outcome));
      // The signal of the limit ends Deno.
      expect(odd.map(({ attempt }) => attempt)).toEqual(runtime === 'deno' ? ['fill the disk'] : []);
    });
  }

  test('does not outlive its deadline, or take more memory than it may; each costs its job alone', async () => {
    const [late, full] = await Promise.all([
      tried(program, ['outlive the deadline', 'read its input']),
      tried(program, ['fill the memory', 'read its input']),
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
      'take more memory than its limit',
    ];
    const { outcomes } = await tried(program, ways, 'off');
    expect(succeeded(outcomes)).toEqual(ways);
  });
});

withMeans.each(RUNTIMES)('on %s, a server', (runtime) => {
  const LANDLOCK = 'landlock_create_ruleset,landlock_add_rule,landlock_restrict_self';
  const under = (calls: string) =>
    calls ? [process.execPath, 'test/support/sandbox/under-profile.ts', calls, '/usr/bin/env'] : [];

  const profiles = [
    ['', 'require', 'full'],
    [`${LANDLOCK},seccomp`, 'on', 'partial (without: files, network, programs)'],
    ['landlock_restrict_self', 'on', 'partial (without: files)'],
    ['prlimit64', 'on', 'partial (without: memory)'],
  ] as const;
  // Both runtimes find out in the same code what is missing, which each asks the kernel in its own way.
  test.each(runtime === 'bun' ? profiles : profiles.slice(0, 2))(
    'whose profile refuses "%s" and whose sandbox is "%s" says "%s", and converts',
    async (calls, asked, text) => {
      const env = { SERVICES: 'image', IMAGE_SANDBOX: asked };
      const server = await startServer(runtime, env, undefined, under(calls));
      await until(() => server.stderr().includes(`  sandbox     ${text};`));
      const metrics = await (await fetch(`${server.url}/metrics`)).text();
      expect(metrics).toContain(`picpool_conversion_sandbox{state="${text.split(' ')[0]}"} 1`);
      expect(metrics).toContain('picpool_conversion_worker_starts_total 1\n');
      const body = new Uint8Array(await privatePhoto('jpeg'));
      expect((await fetch(`${server.url}/api/upload`, { method: 'POST', body })).status).toBe(201);
      await server.stop();
    },
  );

  test.each([[LANDLOCK, 'files'], ...(runtime === 'bun' ? [['prlimit64', 'memory'] as const] : [])] as const)(
    'whose profile refuses "%s" does not start if "%s" is required; log and doctor say so',
    (calls, part) =>
      withFolder(async (folder) => {
        const env = { SERVICES: 'image', IMAGE_SANDBOX: 'require', DATA_DIR: folder };
        const log = join(folder, 'log');
        const start = startServer(runtime, env, folder, [...under(calls), ...logInto(log)]);
        await expect(start).rejects.toThrow('IMAGE_SANDBOX=require');
        expect(await Bun.file(log).text()).toContain(`"stderr":"${part}: `);
        const doctor = Bun.spawnSync([...under(calls), ...COMMANDS[runtime], 'doctor'], {
          env: { ...process.env, ...env },
        });
        expect(`${doctor.stdout}`).toContain(`FAIL  image conversion   sandbox: partial (without: ${part})`);
      }),
  );
});

function asNobody(): string[] {
  // As many as of a user of a large directory.
  const groups = Array.from({ length: 3000 }, (_, index) => 1e9 + index);
  return ['setpriv', `--reuid=${NOBODY}`, `--regid=${NOBODY}`, `--groups=${groups}`];
}
