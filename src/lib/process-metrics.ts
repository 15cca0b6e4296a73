import { readdir } from 'node:fs/promises';
import process from 'node:process';
import type { Metrics } from './metrics.ts';
import { mostOpenFiles } from './open-files.ts';

const SECOND_US = 1e6;

/** Measures the process under the names that all Prometheus client libraries use. */
export function describeProcess(metrics: Metrics): void {
  metrics.value('process_cpu_seconds_total', 'CPU time of the program, and of the system for it.', () => {
    const { user, system } = process.cpuUsage();
    return (user + system) / SECOND_US;
  });
  const startedAt = () => Math.round(Date.now() / 1000 - process.uptime());
  metrics.value('process_start_time_seconds', 'When the process started, in seconds since 1970.', startedAt);
  metrics.value('process_resident_memory_bytes', 'Memory of the process.', () => process.memoryUsage().rss);
  // Only available on Linux.
  const openFiles = async () => (await readdir('/proc/self/fd')).length;
  metrics.value('process_open_fds', 'Open files and sockets.', openFiles);
  metrics.value('process_max_fds', 'Open files and sockets that are allowed.', mostOpenFiles);
}
