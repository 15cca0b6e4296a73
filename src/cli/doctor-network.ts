import { readFile } from 'node:fs/promises';
import { systemClock } from '../lib/clock.ts';
import { inTurnsByHost } from '../proxy/refresh/polite.ts';
import { loadSources } from '../proxy/sources/load.ts';
import { createSourceReader } from '../proxy/sources/read.ts';
import { hostOf, type Source } from '../proxy/sources/source.ts';
import { openChecker } from '../start/checker.ts';
import { lazySafeFetch } from '../start/lazy-fetch.ts';
import type { Finding, Patient } from './doctor-finding.ts';
import { countOf, formatCount } from './format.ts';
import { masked } from './masked.ts';

/** Asks every judge directly. One is enough of each scheme with which proxies are tested. */
export async function checkJudges({ config }: Patient): Promise<Finding[]> {
  const checker = await openChecker(config, () => {});
  const { judges } = await checker.probe();
  checker.close();
  const findings = judges.map(({ url, up, error, latencyMs }): Finding => {
    const shown = masked('PROXY_JUDGES', url);
    return up
      ? { state: 'ok', text: `${shown} (${Math.round(latencyMs ?? 0)} ms)` }
      : { state: 'warn', subject: shown, text: error ?? 'no answer' };
  });
  const works = (scheme: string) => judges.some(({ url, up }) => up && url.startsWith(`${scheme}:`));
  const advice =
    'A judge is a page that shows what a proxy sends on. Set PROXY_JUDGES, or PUBLIC_URL if this server can be reached from outside: it can then be its own judge.';
  if (!works('http') && !works('https')) {
    findings.push({ state: 'fail', text: 'none responds: no proxy can be tested', advice });
  } else {
    for (const scheme of ['http', 'https'] as const) {
      if (works(scheme)) continue;
      findings.push({
        state: 'warn',
        text: `none over ${scheme}: ${scheme} proxies cannot be tested`,
        advice,
      });
    }
  }
  return findings;
}

/** Reads every list. Some always fail, but not all of them. */
export async function checkSources({ config }: Patient): Promise<Finding[]> {
  const allowPrivate = config.PROXY_ALLOW_PRIVATE;
  const sources = await loadSources(config.PROXY_SOURCES, (path) => readFile(path, 'utf8'));
  const read = createSourceReader({ fetch: lazySafeFetch(allowPrivate), allowPrivate });
  const findings: Finding[] = [];
  const { signal } = new AbortController();
  let entries = 0;
  const work = async (source: Source) => {
    const { found, error } = await read(source, { signal, onCandidate: () => {} });
    entries += found;
    if (error !== null) findings.push({ state: 'warn', subject: source.name, text: error });
  };
  await inTurnsByHost(sources, { hostOf, work, clock: systemClock, random: Math.random, signal });
  const good = sources.length - findings.length;
  const text = `${good} of ${countOf(sources.length, 'list')} can be read, ${formatCount(entries)} entries`;
  if (good > 0) return [...findings, { state: 'ok', text }];
  const advice = 'Is this machine online, and does PROXY_SOURCES name lists?';
  return [...findings, { state: 'fail', text, advice }];
}
