import { systemClock } from '../lib/clock.ts';
import { countOf, formatCount } from '../lib/format.ts';
import { masked } from '../lib/masked.ts';
import { inTurnsByHost } from '../proxy/refresh/polite.ts';
import type { OnCandidate } from '../proxy/sources/candidate-sink.ts';
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

interface ReadList {
  source: Source;
  entries: number;
  /** Why it failed, or is incomplete. */
  error: string | null;
  /** Where its host redirects. */
  movedTo: string | null;
}

/** Reads every list once. */
export async function readLists(
  { PROXY_SOURCES, PROXY_ALLOW_PRIVATE: allowPrivate }: Patient['config'],
  onCandidate: OnCandidate = () => {},
): Promise<ReadList[]> {
  const fetch = lazySafeFetch(allowPrivate);
  const { signal } = new AbortController();
  const lists: ReadList[] = [];
  const work = async (source: Source) => {
    let movedTo: string | null = null;
    const read = createSourceReader({
      allowPrivate,
      async fetch(url, options) {
        const response = await fetch(url, options);
        if (response.url !== new URL(url).href) movedTo = response.url;
        return response;
      },
    });
    const { found, paid = 0, error } = await read(source, { signal, onCandidate });
    lists.push({ source, entries: found + paid, error, movedTo });
  };
  const options = { hostOf, work, clock: systemClock, random: Math.random, signal };
  await inTurnsByHost(await loadSources(PROXY_SOURCES), options);
  return lists;
}

/** Reads every list. Some always fail, but not all of them. */
export async function checkSources({ config }: Patient): Promise<Finding[]> {
  const lists = await readLists(config);
  const findings = lists.flatMap(({ source: { name: about }, error, movedTo }) => {
    const texts = [error, movedTo && `has moved to ${masked('PROXY_SOURCES', movedTo)}`];
    return texts.flatMap((text): Finding[] => (text ? [{ level: 'warn', about, text }] : []));
  });
  const good = lists.filter(({ error }) => error === null).length;
  const entries = lists.reduce((sum, list) => sum + list.entries, 0);
  const text = `${good} of ${countOf(lists.length, 'list')} can be read, ${formatCount(entries)} entries`;
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
