import { once } from 'node:events';
import process from 'node:process';
import { type Config, parseConfig } from '../config.ts';
import { choice, integer, text, timer } from '../config-values.ts';
import { csvRow } from '../lib/csv.ts';
import { forEachBounded } from '../lib/for-each-bounded.ts';
import { formatCount } from '../lib/format.ts';
import { affordableSockets } from '../lib/open-files.ts';
import { type Checker, located } from '../proxy/check/checker.ts';
import type { CountryOf } from '../proxy/pool/country.ts';
import { CHECK_COLUMNS, formatForClient } from '../proxy/pool/export.ts';
import {
  type CheckResult,
  countryBy,
  type Dialled,
  formatAddressWithLogin,
  formatWithLogin,
  type Protocol,
} from '../proxy/proxy.ts';
import { createAsker } from '../proxy/targets/ask.ts';
import { openChecker, readAuthority } from '../start/checker.ts';
import { checkOptions, openCandidates, withCheckOptions } from './check-input.ts';
import { defineCommand } from './command.ts';
import { CommandError, EXIT } from './exit.ts';
import { flag, value, valueOr, values } from './options.ts';
import { createProgress } from './progress.ts';
import type { Terminal } from './terminal.ts';

export const CHECK_FORMATS = ['standard', 'text', 'url', 'json', 'csv'] as const;
type CheckFormat = (typeof CHECK_FORMATS)[number];

type Alive = Extract<CheckResult, { verdict: 'alive' }>;

const COLUMNS = [...CHECK_COLUMNS, 'login'] as const;

export const csvHeader = csvRow(COLUMNS);

/** Creates a function that formats a working proxy as a line. The fields have the names of the API. */
export async function createResultWriter(
  format: CheckFormat,
  countryDb: string | undefined,
): Promise<(endpoint: Dialled, result: Alive) => string> {
  if (format === 'standard') return (endpoint) => `${formatWithLogin(endpoint)}\n`;
  if (format === 'text') return (endpoint) => `${formatAddressWithLogin(endpoint)}\n`;
  if (format === 'url') return (endpoint) => `${formatForClient(endpoint)}\n`;
  const { openCountries } = await import('../proxy/pool/country.ts');
  const countryOf = await openCountries(countryDb);
  if (format === 'json') return (...found) => `${JSON.stringify(factsOf(...found, countryOf))}\n`;
  return (...found) => {
    const facts = factsOf(...found, countryOf);
    return csvRow(COLUMNS.map((column) => facts[column]));
  };
}

function factsOf(
  { protocol, ip, port, login = null, tls = null }: Dialled,
  result: Alive,
  countryOf: CountryOf,
) {
  return {
    protocol,
    ip,
    port,
    country: countryBy(countryOf, { ip, ...result }),
    response_time: Math.max(1, Math.round(result.totalMs)),
    anonymity: result.anonymity,
    exit_ip: result.exitIp,
    tampering: result.tampering,
    proof: result.proof,
    login,
    tls,
  };
}

export const command = defineCommand({
  operands: { form: '[FILE|-]...', least: 0, most: Number.POSITIVE_INFINITY },
  about: `Tests the proxies of lists, or of standard input, and prints those that work as they are found. It needs no
server and no store; lists can have any length. Entries look like 203.0.113.9:8080 or socks5://203.0.113.9:1080,
or have a space before the port; the rest of the line is ignored. A login is written as in
http://user:password@203.0.113.9:8080 or 203.0.113.9:8080:user:password, and is printed with the proxy.
A name may stand for the address, and tls:// for a proxy that itself speaks TLS.
Ctrl-C stops it and prints the summary so far. Exit code 0: at least one works; 1: none does; 130: interrupted.

  picpool check proxies.txt > working.txt
  curl -s https://example.com/socks5.txt | picpool check --protocol socks5 --format json | jq .exit_ip
  picpool check proxies.txt --url https://example.com/ --without captcha --format url`,
  options: {
    ...checkOptions,
    format: valueOr(
      'FORM',
      choice(
        CHECK_FORMATS,
        'standard',
        'Output format: standard (protocol://ip:port), text (ip:port), url (for clients), json (one object per line), csv.',
      ),
    ),
    concurrency: value('N', integer(undefined, 'Checks at once. [PROXY_CHECK_CONCURRENCY, 1000]', 1, 20_000)),
    timeout: value(
      'TIME',
      timer(undefined, 'Time limit of one check, such as 5s. [PROXY_CHECK_TIMEOUT, 8s]', '100ms'),
    ),
    url: value(
      'URL',
      text(
        undefined,
        'Also requests this URL through each proxy.',
        /^https?:\/\/[^\s]+$/,
        'an http: or https: URL',
      ),
    ),
    expect: values('STATUS', integer(undefined, 'Status that the URL must answer. [200]', 100, 599)),
    contains: values('TEXT', text(undefined, 'Text that the first 64 KB of the answer must contain.')),
    without: values('TEXT', text(undefined, 'Text that they must not contain.')),
    verbose: flag('Names each entry that is not a proxy.', 'v'),
    quiet: flag('Shows neither progress nor the summary.', 'q'),
  },

  async run({ options, operands, env, terminal }) {
    const config = withCheckOptions(parseConfig(env), options);
    const timeoutMs = options.timeout ?? config.PROXY_CHECK_TIMEOUT;
    const checker = await openChecker(
      { ...config, PROXY_CHECK_TIMEOUT: timeoutMs },
      (level, message) => level === 'error' && terminal.say(`picpool: ${message}`),
    );
    const wanted = options.concurrency ?? config.PROXY_CHECK_CONCURRENCY;
    const concurrency = await affordableSockets(wanted);
    if (concurrency < wanted && !options.quiet) {
      terminal.say(
        `picpool: ${formatCount(concurrency)} checks at once: the limit of open files allows no more (ulimit -n).`,
      );
    }
    const source = await openCandidates({
      paths: operands,
      format: options.input,
      protocols: options.protocol,
      allowPrivate: config.PROXY_ALLOW_PRIVATE,
      ...(options.verbose && { onReject: (sentence) => terminal.say(`picpool: ${sentence}`) }),
    });
    const site = await openSite(options, { ...config, timeoutMs });
    await requireJudge(checker);
    await terminal.print(options.format === 'csv' ? csvHeader : '');
    const write = await createResultWriter(options.format, config.PROXY_COUNTRY_DB);
    const tally = { checked: 0, alive: 0, untested: new Map<Protocol, number>() };
    const progress = options.quiet ? null : createProgress(terminal, 'checked', () => performance.now());

    const interruption = new AbortController();
    // The second Ctrl-C ends the program at once.
    const interrupted = once(process, 'SIGINT').then(() => interruption.abort());
    const unwritten = Promise.withResolvers<never>();
    const checks = forEachBounded(source.candidates(), concurrency, async (endpoint: Dialled) => {
      const checked = await checker.check(endpoint);
      const result =
        checked.verdict === 'alive' && !(await site.serves(endpoint, checker)) ? NOT_SERVED : checked;
      if (interruption.signal.aborted) return;
      tally.checked++;
      if (result.verdict === 'alive') {
        tally.alive++;
        await terminal.print(write(endpoint, result)).catch(unwritten.reject);
      } else if (result.verdict === 'unknown') {
        tally.untested.set(endpoint.protocol, (tally.untested.get(endpoint.protocol) ?? 0) + 1);
      }
      progress?.update({ done: tally.checked, ...source.size(), note: `${formatCount(tally.alive)} alive` });
    });
    // The list may be endless, and a check may take its whole time limit: neither interruption nor fault waits for them.
    await Promise.race([checks, interrupted, unwritten.promise]);
    progress?.end();
    checker.close();
    site.close();
    if (!options.quiet) summarize(terminal, tally, source.leftOut());
    if (interruption.signal.aborted) return EXIT.interrupted;
    return tally.alive > 0 ? EXIT.done : EXIT.failed;
  },
});

const NOT_SERVED = { verdict: 'dead' } as const;

type Site = { url?: string | undefined; expect: number[]; contains: string[]; without: string[] };

/** Decides whether a proxy that works also reaches the URL of the options; without one, each does. */
async function openSite(
  { url, expect, contains, without }: Site,
  { timeoutMs, PROXY_JUDGE_CA }: Pick<Config, 'PROXY_JUDGE_CA'> & { timeoutMs: number },
): Promise<{ serves(proxy: Dialled, checker: Checker): Promise<boolean>; close(): void }> {
  if (url === undefined) return { serves: async () => true, close() {} };
  const ca = await readAuthority(PROXY_JUDGE_CA);
  const asker = createAsker({ timeoutMs, ca, monotonic: () => performance.now() });
  const expected = { statuses: expect.length > 0 ? expect : [200], contains, without };
  return {
    async serves(proxy, checker) {
      const found = await located(proxy, checker.refuses);
      if (typeof found === 'string') return false;
      // An HTTP proxy reaches an https URL by CONNECT.
      const isByConnect = url.startsWith('https:') && found.protocol === 'http';
      return (
        (await asker.ask({ ...found, ...(isByConnect && { protocol: 'https' }) }, url, expected)) === true
      );
    },
    close: asker.close,
  };
}

async function requireJudge(checker: Checker): Promise<void> {
  const { state, judges } = await checker.probe();
  if (state === 'up') return;
  checker.close();
  const reasons = judges.map(({ url, error }) => `  ${url}: ${error ?? 'no answer'}`);
  throw new CommandError(`No judge responds, so nothing can be tested.\n${reasons.join('\n')}`);
}

function summarize(
  terminal: Terminal,
  { checked, alive, untested }: { checked: number; alive: number; untested: Map<Protocol, number> },
  leftOut: readonly string[],
): void {
  terminal.say([`${formatCount(alive)} of ${formatCount(checked)} alive`, ...leftOut].join('; '));
  for (const [protocol, count] of untested) {
    terminal.say(
      `${formatCount(count)} ${protocol} not tested: no judge for them, or no name server, responds`,
    );
  }
}
