/**
 * A million dirty lines, and as many megabytes of JSON, CSV and HTML, from a server on loopback: fetched, parsed and
 * deduplicated. Prints CPU time, the peak of memory and the longest stop of the event loop, each as a share of its
 * bound. A stop is counted in CPU time between two turns of a timer, so that other load on the machine does not show.
 *
 *     bun bench/sources.ts
 *     deno run -A bench/sources.ts
 */
import { spawn } from 'node:child_process';
import { createServer } from 'node:http';
import { createSafeFetch } from '../src/lib/safe-fetch.ts';
import { createSeen, keyOf } from '../src/proxy/discovery/key.ts';
import { createSourceReader } from '../src/proxy/sources/read.ts';
import { SOURCE_FORMATS, type SourceFormat } from '../src/proxy/sources/source.ts';

const LINES = 1_000_000;
const CPU_BOUND_S = 3;
const RSS_BOUND_MB = 300;
const STOP_BOUND_MS = 50;

const DIRT = [
  'Array',
  '# donate: bc1q',
  '127.0.0.1:80',
  'proxy.example.com:80',
  '8.8.8.8:99999',
  '8.8.8.8:80:81',
  'u:p@8.8.8.8:80',
  '10.0.0.1:3128',
  '08.8.8.8:80',
  '',
];

/** Three in ten lines are invalid, and a third of the rest are repetitions. */
function entry(i: number): { ip: string; port: number } | null {
  if (i % 10 < 3) return null;
  const n = Math.imul(i % 3 === 0 ? i >> 4 : i, 0x9e3779b1) >>> 0;
  return {
    ip: `${20 + (n % 70)}.${(n >>> 8) & 255}.${(n >>> 16) & 255}.${n >>> 24}`,
    port: 1 + (n & 0x3fff),
  };
}

const WRITERS: Record<SourceFormat, (i: number) => string> = {
  lines(i) {
    const proxy = entry(i);
    return proxy ? `${proxy.ip}:${proxy.port}\r\n` : `${DIRT[i % DIRT.length]}\n`;
  },
  csv(i) {
    const proxy = entry(i);
    return proxy ? `http,${proxy.ip},${proxy.port},"United States",US\n` : `${DIRT[i % DIRT.length]}\n`;
  },
  json(i) {
    const { ip, port } = entry(i) ?? { ip: 'Array', port: 0 };
    return `${i === 0 ? '[' : ','}{"ip":"${ip}","port":"${port}","protocols":["http"],"geolocation":{"country":"US"}}`;
  },
  html(i) {
    const { ip, port } = entry(i) ?? { ip: 'Array', port: 0 };
    return `<tr><td>${ip}</td><td>${port}</td><td>US</td><td class="hm">no</td></tr>\n`;
  },
};

function serve(): void {
  const bodies = SOURCE_FORMATS.map((format) => {
    const parts: string[] = [];
    let size = 0;
    for (let i = 0; i < LINES && size < 19_500_000; i++) {
      const part = WRITERS[format](i);
      size += part.length;
      parts.push(part);
    }
    return [`/${format}`, Buffer.from(parts.join(''))] as const;
  });
  const pages = new Map<string, Buffer>(bodies);
  const server = createServer((request, response) => response.end(pages.get(request.url ?? '')));
  server.listen(0, '127.0.0.1', () => console.log(JSON.stringify(server.address())));
}

async function measure(): Promise<void> {
  const script = import.meta.filename;
  const runtime = 'Deno' in globalThis ? ['run', '-A', script, 'serve'] : [script, 'serve'];
  const child = spawn(process.execPath, runtime, { stdio: ['ignore', 'pipe', 'inherit'] });
  const port: number = await new Promise((resolve) => {
    child.stdout.once('data', (data) => resolve(JSON.parse(String(data)).port));
  });
  try {
    for (const format of SOURCE_FORMATS) await measureOne(format, port);
  } finally {
    child.kill();
  }
}

async function measureOne(format: SourceFormat, port: number): Promise<void> {
  const readSource = createSourceReader({
    fetch: createSafeFetch({ allowPrivate: true }),
    allowPrivate: false,
  });
  const seen = createSeen();
  let longest = 0;
  let peak = process.memoryUsage.rss();
  let last = process.cpuUsage();
  const watch = setInterval(() => {
    const { user, system } = process.cpuUsage(last);
    longest = Math.max(longest, (user + system) / 1e3);
    last = process.cpuUsage();
    peak = Math.max(peak, process.memoryUsage.rss());
  }, 2);
  const before = process.cpuUsage();
  const start = performance.now();
  const report = await readSource(
    { name: format, url: `http://127.0.0.1:${port}/${format}`, format, protocol: 'http' },
    {
      signal: new AbortController().signal,
      onCandidate: (protocol, ip, at) => void seen.add(keyOf(protocol, ip, at)),
    },
  );
  const wall = (performance.now() - start) / 1e3;
  const { user, system } = process.cpuUsage(before);
  clearInterval(watch);
  const cpu = (user + system) / 1e6;
  console.log(
    `${format.padEnd(6)} ${(report.bytes / 1e6).toFixed(1)} MB, found ${report.found}, distinct ${seen.size}, ` +
      `rejected ${report.rejected}${report.error ? `, ${report.error}` : ''}\n` +
      `       wall ${wall.toFixed(2)} s; CPU ${cpu.toFixed(2)} s (${(cpu / CPU_BOUND_S).toFixed(2)} of the bound); ` +
      `peak ${(peak / 1e6).toFixed(0)} MB (${(peak / 1e6 / RSS_BOUND_MB).toFixed(2)}); ` +
      `longest stop ${longest.toFixed(1)} ms (${(longest / STOP_BOUND_MS).toFixed(2)})`,
  );
}

if (process.argv[2] === 'serve') serve();
else await measure();
