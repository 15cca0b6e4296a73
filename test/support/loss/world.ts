import { json } from '../json.ts';
import type { RunningServer } from '../servers/running-server.ts';
import { until } from '../stores/services.ts';
import type { StoredFiles } from './files.ts';

/** An image as its uploader knows it. */
export interface Uploaded {
  id: string;
  raw_url: string;
  delete_token: string;
}

/** What a copy says of itself when asked whether it is ready. */
export interface Readiness {
  code: number;
  status?: string;
  degraded?: string[];
}

/** A running copy. */
export type LossServer = Pick<RunningServer, 'url' | 'logged' | 'send' | 'upload' | 'stop'>;

/** Copies of the server, over stores that a test may damage. */
export async function startCopies(
  count: number,
  env: Record<string, string>,
  files: StoredFiles,
  startOne: (env: Record<string, string>) => Promise<LossServer>,
) {
  const servers: LossServer[] = [];
  const start = async () => {
    while (servers.length < count) servers.push(await startOne(env));
  };
  const stop = async () => {
    await Promise.all(servers.splice(0).map((server) => server.stop()));
  };
  await start();

  return {
    env,
    files,
    servers,

    /** Stores that many, each of which must be acknowledged. */
    async upload(many: number) {
      const uploaded: Uploaded[] = [];
      for (let index = 0; index < many; index++) {
        const answer = await servers[index % servers.length]?.upload();
        if (answer?.status !== 201) throw new Error(`upload: ${answer?.status} ${await answer?.text()}`);
        uploaded.push((await answer.json()) as Uploaded);
      }
      return uploaded;
    },

    async readiness(server: LossServer) {
      const answer = await server.send('/readyz');
      return { code: answer.status, ...(await json<Omit<Readiness, 'code'>>(answer)) };
    },

    /** Resolves when each copy has begun two more turns of its cleanup. */
    async twoTurns() {
      const turns = (server: LossServer) =>
        server.logged.filter(({ message }) => message === 'cleanup looked').length;
      const seen = servers.map(turns);
      await until(() => servers.every((server, index) => turns(server) >= (seen[index] ?? 0) + 2));
    },

    /** Stops all copies for the work. */
    async stopped(work: () => Promise<unknown>) {
      await stop();
      await work();
      await start();
    },

    stop,
  };
}

export type Copies = Awaited<ReturnType<typeof startCopies>>;
