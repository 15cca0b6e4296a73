import { systemClock } from '../lib/clock.ts';
import { countOf, formatCount } from '../lib/format.ts';
import { masked } from '../lib/masked.ts';
import { inTurnsByHost } from '../proxy/refresh/polite.ts';
import { loadSources } from '../proxy/sources/load.ts';
import { createSourceReader } from '../proxy/sources/read.ts';
import { hostOf, type Source } from '../proxy/sources/source.ts';
import { openChecker } from '../start/checker.ts';
import { lazySafeFetch } from '../start/lazy-fetch.ts';
import { type Finding, fail, ok, warn } from './finding.ts';
import type { Patient } from './system.ts';

/** Number of judges or lists with the same finding that are named. */
const MOST_NAMED = 3;

/** Asks every judge directly. One is enough of each scheme with which proxies are tested. */
export async function checkJudges({ config }: Patient): Promise<Finding[]> {
  const checker = await openChecker(config, () => {});
  const { judges } = await checker.probe();
  checker.close();
  const findings = judges.map(({ url, up, error, latencyMs }): Finding => {
    const shown = masked('PROXY_JUDGES', url);
    return up
      ? ok(`${shown} (${Math.round(latencyMs ?? 0)} ms)`)
      : { level: 'warn', about: shown, text: error ?? 'no answer' };
  });
  const works = (scheme: string) => judges.some(({ url, up }) => up && url.startsWith(`${scheme}:`));
  const advice =
    'A judge is a page that shows what a proxy sends on. Set PROXY_JUDGES, or PUBLIC_URL if this server can be reached from outside: it can then be its own judge.';
  if (!works('http') && !works('https')) {
    findings.push(fail('none responds: no proxy can be tested', advice));
  } else {
    for (const scheme of ['http', 'https'] as const) {
      if (works(scheme)) continue;
      findings.push(warn(`none over ${scheme}: ${scheme} proxies cannot be tested`, advice));
    }
  }
  return grouped(findings);
}

/** Reads every list. Some always fail, but not all of them. */
export async function checkSources({ config }: Patient): Promise<Finding[]> {
  const allowPrivate = config.PROXY_ALLOW_PRIVATE;
  const sources = await loadSources(config.PROXY_SOURCES);
  const read = createSourceReader({ fetch: lazySafeFetch(allowPrivate), allowPrivate });
  const findings: Finding[] = [];
  const { signal } = new AbortController();
  let entries = 0;
  const work = async (source: Source) => {
    const { found, paid = 0, error } = await read(source, { signal, onCandidate: () => {} });
    entries += found + paid;
    if (error !== null) findings.push({ level: 'warn', about: source.name, text: error });
  };
  await inTurnsByHost(sources, { hostOf, work, clock: systemClock, random: Math.random, signal });
  const good = sources.length - findings.length;
  const text = `${good} of ${countOf(sources.length, 'list')} can be read, ${formatCount(entries)} entries`;
  if (good > 0) return [...grouped(findings), ok(text)];
  const advice = 'Is this machine online, and does PROXY_SOURCES name lists?';
  return [...grouped(findings), fail(text, advice)];
}

/** Merges findings that differ only in what they are about into one that names some and counts the rest. */
export function grouped(findings: readonly Finding[]): Finding[] {
  const alike = Map.groupBy(findings, ({ level, text, advice }) => JSON.stringify([level, text, advice]));
  return [...alike.values()].flatMap((group) => {
    const [first] = group;
    const names = group.flatMap(({ about }) => about ?? []);
    if (first === undefined || names.length === 0) return group;
    const more = names.length - MOST_NAMED;
    const named = names.slice(0, MOST_NAMED).join(', ') + (more > 0 ? ` and ${more} more` : '');
    return [{ ...first, text: `${named}: ${first.text}` }];
  });
}
