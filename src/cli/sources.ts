import { readFile } from 'node:fs/promises';
import { parseConfig } from '../config.ts';
import { forEachBounded } from '../lib/for-each-bounded.ts';
import { loadSources } from '../proxy/sources/load.ts';
import { createSourceReader } from '../proxy/sources/read.ts';
import type { Source } from '../proxy/sources/source.ts';
import { lazySafeFetch } from '../start/lazy-fetch.ts';
import { defineCommand, NO_OPERANDS } from './command.ts';
import { EXIT } from './exit.ts';
import { countOf } from './format.ts';
import { masked } from './masked.ts';
import { flag } from './options.ts';

const LISTS_AT_ONCE = 16;

export const command = defineCommand({
  operands: NO_OPERANDS,
  about: `Prints the lists that the pool is filled from: name and URL, with a tab between. With --check it reads each
of them once and prints only those that need a change, and why. Exit code 1: some do.`,
  options: { check: flag('Reads all lists and prints what a maintainer must change.') },

  async run({ options, env, terminal }) {
    const config = parseConfig(env);
    const allowPrivate = config.PROXY_ALLOW_PRIVATE;
    const sources = await loadSources(config.PROXY_SOURCES, (path) => readFile(path, 'utf8'));
    const shown = (url: string) => masked('PROXY_SOURCES', url);
    if (!options.check) {
      await terminal.print(sources.map(({ name, url }) => `${name}\t${shown(url)}\n`).join(''));
      return EXIT.done;
    }
    const inspect = createInspector(allowPrivate);
    let faulty = 0;
    await forEachBounded(sources, LISTS_AT_ONCE, async (source) => {
      const { error, movedTo } = await inspect(source);
      const faults = [error, movedTo !== null && `has moved to ${shown(movedTo)}`].filter(Boolean);
      if (faults.length === 0) return;
      faulty++;
      await terminal.print(`${source.name}\t${shown(source.url)}\t${faults.join('; ')}\n`);
    });
    terminal.say(`${sources.length - faulty} of ${countOf(sources.length, 'list')} need no change`);
    return faulty > 0 ? EXIT.failed : EXIT.done;
  },
});

/** Reads a list once. `movedTo` is where its host redirects, `error` why it gave nothing or not all. */
function createInspector(allowPrivate: boolean) {
  const safeFetch = lazySafeFetch(allowPrivate);
  const { signal } = new AbortController();
  return async (source: Source): Promise<{ error: string | null; movedTo: string | null }> => {
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
