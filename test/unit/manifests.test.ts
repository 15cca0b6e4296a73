import { describe, expect, test } from 'bun:test';
import { readdir, readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { absent } from '../support/absent.ts';
import { run } from '../support/run.ts';

const root = resolve(import.meta.dir, '..', '..');
const yaml = async <T>(name: string) => Bun.YAML.parse(await readFile(join(root, name), 'utf8')) as T;

interface Pod {
  automountServiceAccountToken: boolean;
  securityContext: Record<string, unknown>;
  containers: { securityContext: Record<string, unknown>; resources: Record<string, object> }[];
  volumes: Record<string, unknown>[];
}

test('the pods of the example are admitted where the policy "restricted" holds', async () => {
  const documents = await yaml<{ kind: string; spec: { template: { spec: Pod } } }[]>(
    'examples/kubernetes/picpool.yaml',
  );
  const pods = documents.filter(({ kind }) => kind === 'Deployment').map(({ spec }) => spec.template.spec);
  expect(pods).toHaveLength(1);
  for (const pod of pods) {
    expect(pod.automountServiceAccountToken).toBe(false);
    expect(pod.securityContext).toMatchObject({
      runAsNonRoot: true,
      seccompProfile: { type: 'RuntimeDefault' },
    });
    expect(Object.keys(pod)).not.toContainAnyValues(['hostNetwork', 'hostPID', 'hostIPC', 'initContainers']);
    // Kinds of volumes that it allows, as far as they are used here.
    for (const { name: _, ...kind } of pod.volumes) expect(Object.keys(kind)).toEqual(['emptyDir']);
    for (const { securityContext, resources } of pod.containers) {
      expect(securityContext).toEqual({
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ['ALL'] },
      });
      expect(Object.keys(resources.limits ?? {})).toEqual(['memory', 'ephemeral-storage']);
    }
  }
});

describe.each(['compose.yaml', 'compose.simple.yaml', 'compose.postgres.yaml'])('%s', (name) => {
  type Service = Record<string, unknown> & { image: string };

  test('limits memory, rights and logs of every service', async () => {
    const { services } = await yaml<{ services: Record<string, Service> }>(name);
    for (const [service, given] of Object.entries(services)) {
      const { cap_drop, security_opt, logging, read_only } = given;
      expect([service, cap_drop, security_opt, read_only]).toEqual([
        service,
        ['ALL'],
        ['no-new-privileges:true'],
        true,
      ]);
      expect(given.mem_limit).toBeDefined();
      expect(logging).toEqual({ driver: 'json-file', options: { 'max-size': '10m', 'max-file': '5' } });
    }
  });

  test('lets picpool answer what has begun, and asks it whether it is well', async () => {
    const { services } = await yaml<{ services: Record<string, Service> }>(name);
    const copies = Object.values(services).filter(({ image }) => image.startsWith('picpool:'));
    expect(copies.length).toBeGreaterThan(0);
    for (const { stop_grace_period, healthcheck } of copies) {
      expect(stop_grace_period).toBe('35s');
      expect(healthcheck).toMatchObject({ test: ['CMD', '/usr/local/bin/picpool', 'health'] });
    }
  });
});

test.skipIf(absent('shellcheck'))(
  'shellcheck finds nothing in the shell scripts',
  async () => {
    const listed = await run(['git', 'ls-files'], { cwd: root });
    const files = (await readdir(join(root, 'scripts'), { recursive: true })).map(
      (file) => `scripts/${file}`,
    );
    const scripts: string[] = [];
    for (const file of [...files, '.ci/run']) {
      if (!listed.includes(file) || file.endsWith('.ts') || !(await Bun.file(join(root, file)).exists()))
        continue;
      if (/^#!.*\b(ba)?sh\n/.test(await Bun.file(join(root, file)).slice(0, 40).text())) scripts.push(file);
    }
    expect(scripts.length).toBeGreaterThan(20);
    const args = ['--external-sources', '--source-path=SCRIPTDIR', ...scripts];
    await run(['shellcheck', ...args], { cwd: root });
  },
  60_000,
);
