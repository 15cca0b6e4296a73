import type { Family, Sample } from '../lib/metrics.ts';

/** The media type of the Prometheus text format. */
export const PROMETHEUS_TYPE = 'text/plain; version=0.0.4; charset=utf-8';

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
