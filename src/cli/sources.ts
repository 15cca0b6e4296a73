import { parseConfig } from '../config.ts';
import { systemClock } from '../lib/clock.ts';
import { countOf } from '../lib/format.ts';
import { masked } from '../lib/masked.ts';
import { inTurnsByHost } from '../proxy/refresh/polite.ts';
import { loadSources } from '../proxy/sources/load.ts';
import { createSourceReader } from '../proxy/sources/read.ts';
import { hostOf, type Source } from '../proxy/sources/source.ts';
import { lazySafeFetch } from '../start/lazy-fetch.ts';
import { defineCommand, NO_OPERANDS } from './command.ts';
import { EXIT } from './exit.ts';
import { flag } from './options.ts';

export const command = defineCommand({
  operands: NO_OPERANDS,
  about: `Prints the lists that fill the pool: name and URL, separated by a tab. With --check, it reads each list once
and prints only those that need a change, and why. Exit code 1: some do.`,
  options: { check: flag('Reads all lists and prints what a maintainer must change.') },

  async run({ options, env, terminal }) {
    const config = parseConfig(env);
    const allowPrivate = config.PROXY_ALLOW_PRIVATE;
    const sources = await loadSources(config.PROXY_SOURCES);
    const shown = (url: string) => masked('PROXY_SOURCES', url);
    if (!options.check) {
      await terminal.print(sources.map(({ name, url }) => `${name}\t${shown(url)}\n`).join(''));
      return EXIT.done;
    }
    const inspect = createInspector(allowPrivate);
    let faulty = 0;
    const { signal } = new AbortController();
    const work = async (source: Source) => {
      const { error, movedTo } = await inspect(source, signal);
      const faults = [error, movedTo !== null && `has moved to ${shown(movedTo)}`].filter(Boolean);
      if (faults.length === 0) return;
      faulty++;
      await terminal.print(`${source.name}\t${shown(source.url)}\t${faults.join('; ')}\n`);
    };
    await inTurnsByHost(sources, { hostOf, work, clock: systemClock, random: Math.random, signal });
    terminal.say(`${sources.length - faulty} of ${countOf(sources.length, 'list')} are fine`);
    return faulty > 0 ? EXIT.failed : EXIT.done;
  },
});

/** Reads a list once. `movedTo` is where its host redirects, `error` why reading failed or is incomplete. */
function createInspector(allowPrivate: boolean) {
  const safeFetch = lazySafeFetch(allowPrivate);
  return async (
    source: Source,
    signal: AbortSignal,
  ): Promise<{ error: string | null; movedTo: string | null }> => {
    let movedTo: string | null = null;
    const read = createSourceReader({
      allowPrivate,
      async fetch(url, options) {
        const response = await safeFetch(url, options);
        if (response.url !== new URL(url).href) movedTo = response.url;
        return response;
      },
    });
    const { error } = await read(source, { signal, onCandidate: () => {} });
    return { error, movedTo };
  };
}
