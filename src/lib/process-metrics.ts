import { readdir } from 'node:fs/promises';
import process from 'node:process';
import type { GaugeOptions, Metrics } from './metrics.ts';
import { mostOpenFiles } from './open-files.ts';

const SECOND_US = 1e6;

/** Measures the process under the names that all Prometheus client libraries use. */
export function describeProcess(metrics: Metrics): void {
  const gauges: [
    name: string,
    help: string,
    read: () => number | Promise<number>,
    type?: GaugeOptions['type'],
  ][] = [
    [
      'process_cpu_seconds_total',
      'CPU time of the program, and of the system for it.',
      () => (process.cpuUsage().user + process.cpuUsage().system) / SECOND_US,
      'counter',
    ],
    [
      'process_start_time_seconds',
      'When the process started, in seconds since 1970.',
      () => Math.round(Date.now() / 1000 - process.uptime()),
    ],
    ['process_resident_memory_bytes', 'Memory of the process.', () => process.memoryUsage().rss],
    // Only available on Linux.
    ['process_open_fds', 'Open files and sockets.', async () => (await readdir('/proc/self/fd')).length],
    [
      'process_max_fds',
      'Open files and sockets that are allowed.',
      async () => (await mostOpenFiles()) ?? Promise.reject(new Error('unknown')),
    ],
  ];
  for (const [name, help, read, type] of gauges) {
    metrics.gauge({
      name,
      help,
      ...(type && { type }),
      read: async () => [{ labels: [], value: await read() }],
    });
  }
}
