import { expect, test } from 'bun:test';
import { filesAdapter, recordsAdapter } from '../../adapters/registry.ts';
import { parseConfig, settings } from '../../src/config.ts';
import { withServer } from '../support/servers/running-server.ts';

interface Probe {
  httpGet: { path: string; port: string | number };
  periodSeconds: number;
  timeoutSeconds: number;
}

interface Container {
  name: string;
  ports: { name: string; containerPort: number }[];
  envFrom: { secretRef: { name: string } }[];
  env: { name: string; value: string }[];
  livenessProbe: Probe;
  readinessProbe: Probe;
  volumeMounts: { name: string; mountPath: string }[];
  securityContext: object;
  resources: { limits?: object };
}

interface Pod {
  automountServiceAccountToken: boolean;
  terminationGracePeriodSeconds: number;
  securityContext: { runAsUser: number; runAsGroup: number; fsGroup: number };
  containers: [Container];
  volumes: ({ name: string } & Record<string, unknown>)[];
}

interface Resource {
  kind: string;
  metadata: { name: string };
  stringData: Record<string, string>;
  spec: {
    selector: { matchLabels?: Record<string, string> } & Record<string, unknown>;
    template: { metadata: { labels: Record<string, string> }; spec: Pod };
    ports: { targetPort: string }[];
  };
}

const resources = Bun.YAML.parse(await Bun.file('examples/kubernetes/picpool.yaml').text()) as Resource[];
const containerfile = await Bun.file('Containerfile').text();

function resource(kind: string): Resource {
  const found = resources.find((one) => one.kind === kind);
  if (!found) throw new Error(`there is no ${kind}`);
  return found;
}

const secret = resource('Secret');
const { template, selector } = resource('Deployment').spec;
const pod = template.spec;
const [container] = pod.containers;
const environment = {
  ...secret.stringData,
  ...Object.fromEntries(container.env.map(({ name, value }) => [name, value])),
};
const config = parseConfig(environment);

test('every variable is a setting, and together they are valid, over stores that copies can share', () => {
  expect(container.envFrom).toEqual([{ secretRef: { name: secret.metadata.name } }]);
  for (const name of Object.keys(environment)) expect(Object.keys(settings)).toContain(name);
  expect(recordsAdapter(config.METADATA_URL).shared).toBe(true);
  expect(filesAdapter(config.BLOBS_URL).shared).toBe(true);
});

test('the ports are those that the server listens on, and lead to the same copies', () => {
  const [port] = container.ports;
  expect(port?.containerPort).toBe(config.PORT);
  expect(resource('Service').spec.ports.map(({ targetPort }) => targetPort)).toEqual([port?.name ?? '']);
  const { labels } = template.metadata;
  expect(selector.matchLabels).toEqual(labels);
  expect(resource('Service').spec.selector).toEqual(labels);
  expect(resource('PodDisruptionBudget').spec.selector.matchLabels).toEqual(labels);
});

test('the probes use paths that the server has, with enough time', async () => {
  const { livenessProbe, readinessProbe } = container;
  expect(livenessProbe.httpGet).toEqual({ path: '/livez', port: 'http' });
  expect(readinessProbe.httpGet).toEqual({ path: '/readyz', port: 'http' });
  // A store that hangs is given up after 3 s.
  expect(readinessProbe.timeoutSeconds).toBeGreaterThan(3);
  await withServer({}, async ({ send }) => {
    for (const { httpGet } of [livenessProbe, readinessProbe])
      expect((await send(httpGet.path)).status).toBe(200);
  });
});

test('a copy is killed only after its shutdown is complete', () => {
  const neededMs = config.SHUTDOWN_DELAY + config.SHUTDOWN_GRACE + 10_000;
  expect(config.SHUTDOWN_DELAY).toBeGreaterThan(0);
  expect(1000 * pod.terminationGracePeriodSeconds).toBeGreaterThanOrEqual(neededMs);
});

test('it runs as the user of the image, and can write to the data folder', () => {
  const [, user, group] = /^USER (\d+):(\d+)$/m.exec(containerfile) ?? [];
  const { runAsUser, runAsGroup, fsGroup } = pod.securityContext;
  expect([runAsUser, runAsGroup, fsGroup].map(String)).toEqual([user, group, group] as string[]);
  expect(containerfile).toContain(`ENV DATA_DIR=${config.DATA_DIR} `);
  const mounts = container.volumeMounts.map(({ mountPath }) => mountPath);
  expect(mounts).toEqual([config.DATA_DIR, '/tmp']);
  expect(pod.volumes.map(({ name }) => name)).toEqual(container.volumeMounts.map(({ name }) => name));
});

test('the pod is admitted where the policy "restricted" holds', () => {
  expect(resources.filter(({ kind }) => kind === 'Deployment')).toHaveLength(1);
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
});
