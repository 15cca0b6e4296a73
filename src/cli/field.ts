import { type ChildProcess, spawn } from 'node:child_process';
import { lookup } from 'node:dns/promises';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { get } from 'node:http';
import { connect } from 'node:net';
import { join } from 'node:path';
import process from 'node:process';
import { text as textOf } from 'node:stream/consumers';
import { type Finding, ok, warn } from '../findings/finding.ts';
import { readLists } from '../findings/network.ts';
import type { Patient } from '../findings/system.ts';
import { bracketed, unbracketed } from '../lib/address.ts';
import { within } from '../lib/deadline.ts';
import { forEachBounded } from '../lib/for-each-bounded.ts';
import { parseForeignJson } from '../lib/foreign-json.ts';
import { BUILT_IN_JUDGES, BUILT_IN_WITNESSES } from '../proxy/check/built-in.ts';
import { loadSources } from '../proxy/sources/load.ts';
import { openChecker } from '../start/checker.ts';
import { lazySafeFetch } from '../start/lazy-fetch.ts';
import { VERSION } from '../version.ts';
import { withWorkFolder } from './copying.ts';
import { CommandError } from './exit.ts';

const CONNECT_MS = 5000;
/** Time for one request through the gateway. */
const REQUEST_MS = 30_000;
const REQUESTS = 50;
/** Entries that are checked at most: a tenth of what the lists hold. */
const MOST_ENTRIES = 50_000;

/** What works of one list, judge or witness; `own` if it is not built in. */
interface Tried {
  name: string;
  works: boolean;
  entries?: number;
  ms?: number;
  error?: string;
}

/**
 * Tries what the server needs of the internet for about that time: lists, judges, witnesses, IPv6, and the gateway with the
 * proxies found. Writes a report without addresses and without anything of the operator's own, of what was tried until
 * an error or a signal.
 * @throws {CommandError} at once if the report cannot be created.
 */
export async function examineField(
  { config, env, runtime }: Patient,
  { path, ms }: { path: string; ms: number },
): Promise<Finding[]> {
  const end = Date.now() + ms;
  await writeFile(path, '', { flag: 'wx' }).catch((error: NodeJS.ErrnoException) => {
    const why = error.code === 'EEXIST' ? 'it exists already' : error.code;
    throw new CommandError(`the report ${path} cannot be created: ${why}`);
  });
  const machine = `${runtime.name} ${runtime.version}, ${process.platform} ${process.arch}`;
  const report: Record<string, unknown> = { version: VERSION, machine };
  const children: ChildProcess[] = [];
  const finish = () => {
    for (const child of children) child.kill('SIGTERM');
    writeFileSync(path, `${JSON.stringify(report, null, 2)}\n`);
  };
  // Also when a signal ends the program.
  process.once('exit', finish);
  return withWorkFolder(config.DATA_DIR, async (folder) => {
    const entries = new Set<string>();
    const lists = await tryLists(config, entries);
    Object.assign(report, { lists, entries: entries.size });
    const judges = await tryJudges(config);
    report.judges = judges;
    const witnesses = await tryWitnesses(config);
    report.witnesses = witnesses;
    report.ipv6 = await tryIpv6(config.PROXY_JUDGES ?? BUILT_IN_JUDGES);
    const [program = '', ...before] = runtime.selfCommand();
    const run = (...words: string[]) => {
      const child = spawn(program, [...before, ...words], { env, stdio: 'pipe' });
      children.push(child);
      return child;
    };
    const found = join(folder, 'found');
    await writeFile(found, [...entries].join('\n'));
    const checking = run('check', '--format', 'json', '--quiet', found);
    const timer = setTimeout(() => checking.kill('SIGINT'), Math.max(1000, (end - Date.now()) * 0.7));
    checking.stderr.resume();
    const alive = (await textOf(checking.stdout)).split('\n').filter(Boolean).map(protocolAndUrl);
    clearTimeout(timer);
    await writeFile(found, alive.map(({ url }) => url).join('\n'));
    report.alive = Object.fromEntries(
      [...Map.groupBy(alive, ({ protocol }) => protocol)].map(([name, all]) => [name, all.length]),
    );
    const pages = (config.PROXY_JUDGES ?? BUILT_IN_JUDGES).filter((url) => url.startsWith('http:'));
    const gateway =
      alive.length === 0
        ? null
        : await tryGateway(run('gateway', '--list', found, '--port', '0', '--ports', 'any'), pages, end);
    report.gateway = gateway;
    const count = (what: string, all: readonly Tried[]) => {
      const works = all.filter((one) => one.works).length;
      return (works === all.length ? ok : warn)(`${works} of ${all.length} ${what} work`);
    };
    return [
      ...[count('lists', lists), count('judges', judges), count('witnesses', witnesses)],
      gateway === null
        ? warn('no proxy works')
        : ok(`${alive.length} proxies work; ${gateway.served} of ${gateway.requests} requests answered`),
      ok(`report in ${path}`),
    ];
  }).finally(() => {
    process.off('exit', finish);
    finish();
  });
}

/** Hides addresses and URLs in the error of something built in; that of something else is left out. */
function told(name: string, isBuiltIn: boolean, fact: Omit<Tried, 'name'>): Tried {
  const { error, ...others } = fact;
  const hidden = error
    ?.replace(/\bhttps?:\S+/g, 'URL')
    .replace(/\b\d{1,3}(?:\.\d{1,3}){3}\b|[\da-f]{0,4}(?::[\da-f]{0,4}){2,7}/gi, 'ADDRESS');
  return {
    name: isBuiltIn ? name : 'own',
    ...others,
    ...(isBuiltIn && hidden !== undefined && { error: hidden }),
  };
}

async function tryLists(config: Patient['config'], entries: Set<string>): Promise<Tried[]> {
  const builtIn = new Set((await loadSources(undefined)).map(({ url }) => url));
  const lists = await readLists(config, (protocol, ip, port) => {
    const place = `${bracketed(ip)}:${port}`;
    if (entries.size < MOST_ENTRIES) entries.add(protocol === 'any' ? place : `${protocol}://${place}`);
  });
  return lists.map(({ source: { name, url }, entries: count, error }) => {
    const fact = { works: error === null && count > 0, entries: count, ...(error !== null && { error }) };
    return told(name, builtIn.has(url), fact);
  });
}

async function tryJudges(config: Patient['config']): Promise<Tried[]> {
  const checker = await openChecker(config, () => {});
  const { judges } = await checker.probe();
  checker.close();
  return judges.map(({ url, up, error, latencyMs }) =>
    told(url, BUILT_IN_JUDGES.includes(url), {
      works: up,
      ms: Math.round(latencyMs ?? 0),
      ...(error && { error }),
    }),
  );
}

async function tryWitnesses({ PROXY_WITNESSES, PROXY_ALLOW_PRIVATE }: Patient['config']): Promise<Tried[]> {
  const fetch = lazySafeFetch(PROXY_ALLOW_PRIVATE);
  const tried: Tried[] = [];
  await forEachBounded(PROXY_WITNESSES ?? BUILT_IN_WITNESSES, 4, async (url) => {
    const options = { headers: { range: 'bytes=1000-1999' }, timeoutMs: CONNECT_MS, maxBytes: 4096 };
    const fact = await fetch(url, options).then(
      (answer) => {
        answer.discard();
        const { status } = answer;
        return { works: status === 206, ...(status !== 206 && { error: `answered ${status}` }) };
      },
      (error: Error) => ({ works: false, error: error.message }),
    );
    tried.push(told(url, BUILT_IN_WITNESSES.includes(url), fact));
  });
  return tried;
}

/** Counts the judges that have an IPv6 address, and those that accept a connection there. */
async function tryIpv6(urls: readonly string[]): Promise<{ named: number; reached: number }> {
  const counts = { named: 0, reached: 0 };
  await forEachBounded(urls, 4, async (url) => {
    const { hostname, port, protocol } = new URL(url);
    const found = await lookup(unbracketed(hostname), 6).catch(() => null);
    if (found === null) return;
    counts.named++;
    const socket = connect({ host: found.address, port: Number(port || (protocol === 'https:' ? 443 : 80)) });
    const isThere = await within(CONNECT_MS, once(socket, 'connect')).catch(() => null);
    if (isThere !== null) counts.reached++;
    socket.destroy();
  });
  return counts;
}

function protocolAndUrl(line: string): { protocol: string; url: string } {
  const {
    protocol = '',
    ip = '',
    port = 0,
  } = parseForeignJson(line) as { protocol?: string; ip?: string; port?: number };
  return { protocol, url: `${protocol}://${bracketed(ip)}:${port}` };
}

/** Asks the pages through the gateway, one after the other, until the end. */
async function tryGateway(child: ReturnType<typeof spawn>, pages: readonly string[], end: number) {
  const result = { requests: 0, served: 0, medianMs: 0 };
  const times: number[] = [];
  try {
    const [line] = (await within(REQUEST_MS, once(child.stderr ?? child, 'data'))) as [Buffer];
    const port = Number(/127\.0\.0\.1:(\d+)/.exec(String(line))?.[1]);
    child.stderr?.resume();
    for (; pages.length > 0 && result.requests < REQUESTS && Date.now() < end; result.requests++) {
      const begun = performance.now();
      const path = pages[result.requests % pages.length] ?? '';
      const headers = { host: new URL(path).host, connection: 'close' };
      const asking = get({ host: '127.0.0.1', port, path, headers, timeout: REQUEST_MS });
      const status = await new Promise<number>((resolve) => {
        asking.once('response', (answer) => resolve(answer.resume().statusCode ?? 0));
        asking.once('timeout', () => asking.destroy()).once('error', () => resolve(0));
      });
      if (status !== 200) continue;
      result.served++;
      times.push(performance.now() - begun);
    }
  } finally {
    child.kill('SIGTERM');
  }
  result.medianMs = Math.round(times.sort((a, b) => a - b)[times.length >> 1] ?? 0);
  return result;
}
