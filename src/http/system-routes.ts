import { Type } from '@sinclair/typebox';
import { AppError, inEnglish } from '../errors.ts';
import type { Feature } from '../feature.ts';
import type { Finding, FindingSource } from '../findings/finding.ts';
import { within } from '../lib/deadline.ts';
import type { Family, Metrics, Sample } from '../lib/metrics.ts';
import { type Description, successOf } from './describe.ts';
import { createResponseCache } from './response-cache.ts';
import { type Route, route } from './route.ts';

/** Time limit for a source to answer, in ms. */
const READY_TIMEOUT_MS = 3000;

const status = Type.String();

const liveness: Description = {
  id: 'getLiveness',
  summary: 'Check that the process is running',
  answers: { 200: successOf('The process is running.', { status }, { status: 'alive' }) },
};

const ready: Description = {
  id: 'getReadiness',
  summary: 'Check that the server can serve requests',
  answers: {
    200: successOf(
      'The server is ready. `degraded` lists the parts with problems.',
      { status, degraded: Type.Optional(Type.Array(Type.String())) },
      { status: 'ready' },
    ),
  },
};

/** Routes for monitoring, which are answered regardless of how many requests wait. */
export function systemRoutes(sources: readonly FindingSource[]): Route[] {
  return [
    route('GET /livez', () => Response.json({ success: true, status: 'alive' }), {
      queued: false,
      about: liveness,
    }),
    route('GET /readyz', () => showReady(sources), { queued: false, about: ready }),
  ];
}

/**
 * Shows what is wrong, if anything is.
 * @throws {AppError} `unavailable` if no service can work.
 */
async function showReady(sources: readonly FindingSource[]): Promise<Response> {
  const found = await look(sources);
  const degraded = texts(found);
  const services = needing(sources.map(({ silence }) => silence)).filter((name) => name !== 'all');
  const down = needing(found);
  const isDown = (service: string) => down.includes(service);
  if (isDown('all') || (services.length > 0 && services.every(isDown)))
    throw new AppError('unavailable', inEnglish(degraded.join(' ')), { cause: degraded });
  if (degraded.length === 0) return Response.json({ success: true, status: 'ready' });
  return Response.json({ success: true, status: 'degraded', degraded });
}

const look = async (sources: readonly FindingSource[]) =>
  (await Promise.all(sources.map(findingsInTime))).flat();

const texts = (findings: readonly Finding[]) => [...new Set(findings.map(({ text }) => text))];

/** Counts what is wrong, if anything is. */
export function describeFindings(metrics: Metrics, sources: readonly FindingSource[]): void {
  const count = async () => texts(await look(sources)).length;
  metrics.value('picpool_findings', 'Number of problems that /readyz lists.', count);
}

/** Returns the services that cannot work with these findings. */
function needing(findings: readonly Finding[]): string[] {
  return findings.flatMap(({ level, about }) => (level === 'fail' ? (about ?? []) : []));
}

async function findingsInTime({ look, silence }: FindingSource): Promise<readonly Finding[]> {
  try {
    return await within(READY_TIMEOUT_MS, look());
  } catch {
    return [silence];
  }
}

/** `GET /api/stats`, the one path that both services share. `now` in ms. */
export function statsRoutes(features: readonly Feature[], now: () => number): Route[] {
  return [
    route('GET /api/stats', () => stats(features), {
      cached: createResponseCache({ version: () => versionOf(features, now) }),
      about: {
        id: features.length > 1 ? 'getStats' : `get${features[0]?.name}Stats`,
        tag: features.length > 1 ? 'Server' : `${features[0]?.name}`,
        summary: 'Get statistics',
        answers: {
          200: {
            description: 'The statistics of all services at this base path.',
            schema: { type: 'object', allOf: features.map(({ statsAnswer }) => statsAnswer.schema) } as never,
            example: Object.assign({}, ...features.map(({ statsAnswer }) => statsAnswer.example)),
          },
        },
      },
    }),
  ];
}

async function stats(features: readonly Feature[]): Promise<Response> {
  const parts = await Promise.all(features.map((feature) => feature.stats()));
  return Response.json(Object.assign({}, ...parts), { headers: { 'cache-control': 'no-cache' } });
}

/** Returns the version of all services together. Services without a version are recounted every second. */
function versionOf(features: readonly Feature[], now: () => number): string | Promise<string> {
  const versions = features.map(({ version }) => version?.() ?? String(Math.floor(now() / 1000)));
  return versions.every((version) => typeof version === 'string')
    ? versions.join()
    : Promise.all(versions).then(String);
}

type Collected = Pick<Metrics, 'collect'>;

const about: Description = {
  id: 'getMetrics',
  summary: 'Get metrics for Prometheus',
  description: 'Open to everyone unless `METRICS_TOKEN` is set.',
  answers: {
    200: { description: 'The metrics.', content: { 'text/plain': { schema: Type.String() } } },
  },
};

/** `GET /metrics`, for everyone or, if a token is set, for holders of the token. */
export function metricsRoutes(metrics: Collected, token: string | undefined): Route[] {
  return [
    route('GET /metrics', () => show(metrics), { tokens: { METRICS_TOKEN: token }, queued: false, about }),
  ];
}

async function show(metrics: Collected): Promise<Response> {
  return new Response(prometheusText(await metrics.collect()), {
    headers: { 'content-type': PROMETHEUS_TYPE, 'cache-control': 'no-store' },
  });
}

const PROMETHEUS_TYPE = 'text/plain; version=0.0.4; charset=utf-8';

/** Formats metrics as Prometheus text: for each family its help, its type, and a line for each sample. */
export function prometheusText(families: readonly Family[]): string {
  return families
    .map(({ name, help, type, labelNames, samples }) => {
      const lines = samples.map((sample) => lineOf(name, labelNames, sample));
      return [`# HELP ${name} ${escaped(help)}`, `# TYPE ${name} ${type}`, ...lines, ''].join('\n');
    })
    .join('');
}

function lineOf(
  family: string,
  labelNames: readonly string[],
  { name = family, labels, value }: Sample,
): string {
  const pairs = labels.map(
    (label, place) => `${labelNames[place]}="${escaped(label).replaceAll('"', '\\"')}"`,
  );
  return `${name}${pairs.length > 0 ? `{${pairs.join(',')}}` : ''} ${numberOf(value)}`;
}

function escaped(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n');
}

function numberOf(value: number): string {
  return Number.isFinite(value) ? String(value) : value > 0 ? '+Inf' : value < 0 ? '-Inf' : 'NaN';
}
