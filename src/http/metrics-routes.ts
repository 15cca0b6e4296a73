import { Type } from '@sinclair/typebox';
import type { Family, Metrics, Sample } from '../lib/metrics.ts';
import type { Description } from './describe.ts';
import { type Route, route } from './route.ts';

type Collected = Pick<Metrics, 'collect'>;

const about: Description = {
  id: 'getMetrics',
  tag: 'Server',
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

/** The media type of the Prometheus text format. */
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
