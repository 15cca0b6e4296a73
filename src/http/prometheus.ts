import type { Family, Metrics } from '../lib/metrics.ts';

/** The numbers as text in the format of Prometheus, and the media type of it. */
export type Prometheus = () => Promise<{ text: string; type: string }>;

/** Writes the metrics with `prom-client`, which adds what is known about the process, and is loaded with the first call. */
export function createPrometheus(metrics: Metrics): Prometheus {
  let opened: ReturnType<typeof open> | undefined;
  return async () => {
    opened ??= open();
    const { Counter, Registry, processRegistry } = await opened;
    const registry = new Registry();
    for (const family of await metrics.collect()) {
      const { name, help } = family;
      // The library has no other way to write what was counted elsewhere.
      const metric = new Counter({ name, help, registers: [registry] });
      Object.assign(metric, { get: async () => inItsForm(family) });
    }
    const parts = await Promise.all([registry.metrics(), processRegistry.metrics()]);
    return { text: `${parts.map((part) => part.trim()).join('\n\n')}\n`, type: registry.contentType };
  };
}

async function open() {
  const { collectDefaultMetrics, Counter, Registry } = await import('prom-client');
  const processRegistry = new Registry();
  collectDefaultMetrics({ register: processRegistry, eventLoopMonitoringPrecision: 1000 });
  // What it says of the event loop and the heap is made for Node, and nonsense elsewhere.
  for (const { name } of processRegistry.getMetricsAsArray()) {
    if (!name.startsWith('process_')) processRegistry.removeSingleMetric(name);
  }
  return { Counter, Registry, processRegistry };
}

function inItsForm({ name, help, type, labelNames, samples }: Family) {
  return {
    name,
    help,
    type,
    aggregator: 'sum',
    values: samples.map(({ name: metricName = name, labels, value }) => ({
      metricName,
      value,
      labels: Object.fromEntries(labels.map((label, index) => [labelNames[index] ?? '', label])),
    })),
  };
}
