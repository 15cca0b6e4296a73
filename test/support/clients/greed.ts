import { PNG } from '../servers/running-server.ts';
import { startGreedyClient } from './greedy-client.ts';
import { createQuietClient } from './quiet-client.ts';

/**
 * Reads and uploads as one client, alone and beside another one that holds 2,000 connections, of which 200 listen to events, 200
 * export, 200 guess passwords and 400 say nothing; `share` of these where that is less. `reads`: of each path.
 */
export async function measureGreed(url: string, share: number, reads: number) {
  const of = (count: number) => Math.round(count * share);
  const quiet = createQuietClient(url, '127.0.0.2');
  try {
    const upload = async (query = '') => {
      const answer = await quiet.send(`/api/upload${query}`, { method: 'POST', body: PNG });
      const stored = answer.status === 201 ? (JSON.parse(answer.text) as { raw_url: string }) : null;
      return { ms: answer.ms, path: stored && new URL(stored.raw_url).pathname };
    };
    const { path: picture } = await upload();
    const { path: secret } = await upload('?password=tea');
    const paths = ['/api/v1/proxies', picture ?? '', '/api/list', '/gallery'];
    await quiet.read(paths, reads);
    const alone = await quiet.read(paths, reads);
    const greedy = await startGreedyClient({
      url,
      from: '127.0.0.3',
      lists: of(1000),
      idle: of(400),
      streams: of(200),
      exports: of(200),
      guesses: of(200),
      picture: secret ?? '',
    });
    const beside = await quiet.read(paths, reads);
    const uploads = [];
    for (let n = 0; n < 5; n++) uploads.push(await upload());
    return {
      /** Of each path: the median time alone, and beside the greedy client, in ms. */
      reads: paths.map((path) => ({
        path,
        aloneMs: alone.medians.get(path) ?? Number.NaN,
        besideMs: beside.medians.get(path) ?? Number.NaN,
      })),
      /** Reads with another status than 200. */
      faults: alone.faults + beside.faults,
      /** Of the uploads beside the greedy client: those that were stored, and the longest in ms. */
      uploads: {
        sent: uploads.length,
        stored: uploads.filter(({ path }) => path !== null).length,
        longestMs: Math.max(...uploads.map(({ ms }) => ms)),
      },
      /** Answers to the greedy client by status. */
      answers: await greedy.stop(),
    };
  } finally {
    quiet.close();
  }
}
