import { AWAY } from '../servers/balancer.ts';
import type { Copy, Fleet } from '../servers/fleet.ts';
import { PNG } from '../servers/running-server.ts';

export interface LoadReport {
  /** Answers by status; `away`: the balancer found no copy to answer; `cut`: the copy died while it answered. */
  answers: Record<string, number>;
  /** Images that were acknowledged and never deleted. */
  stored: number;
  /** Of these, such that cannot be read afterwards; of the deleted ones, such that can. */
  lost: string[];
  undead: string[];
  /** Answers of the servers with 5xx that is not a 503 in the envelope with Retry-After, or a wrong one. */
  faults: string[];
  kills: number;
}

export interface LoadOptions {
  /** Requests at once. */
  concurrency: number;
  /** Addresses that they come from. A conversion process serves one of them, and takes a moment to start. */
  clients: number;
  /** How often a copy is killed. */
  kills: number;
  /** What happens to a copy in its turn: by default it is killed, and started again 200 ms later. */
  replace?: (copy: Copy) => Promise<void>;
  /** So many uploads are acknowledged before the first kill, after the last one, and between two of them. */
  uploadsBetween: number;
  random: () => number;
}

interface Image {
  id: string;
  path: string;
  from: string;
}

/**
 * Sends uploads, reads, lists, searches, deletions and reads of the pool through the balancer, while one copy after
 * the other is killed and started again, as often as is asked. At the end everything that was acknowledged is looked up.
 */
export async function runMixedLoad(fleet: Fleet, options: LoadOptions): Promise<LoadReport> {
  const { concurrency, clients, kills, uploadsBetween, random, replace = killed } = options;
  const report: LoadReport = { answers: {}, stored: 0, lost: [], undead: [], faults: [], kills: 0 };
  const images: Image[] = [];
  const deleted: Image[] = [];
  let acknowledged = 0;

  /** What the server said, or `null` where none answered. */
  async function call(path: string, init: RequestInit & { from?: string } = {}): Promise<Answer | null> {
    const { method = 'GET' } = init;
    let status = `away ${method}`;
    try {
      const answer = await fleet.send(path, init);
      const body = await answer.text();
      if (body.includes(AWAY)) return null;
      status = String(answer.status);
      if (answer.status >= 500 && !isUnavailable(answer, body)) {
        report.faults.push(`${method} ${path}: ${answer.status} ${body.slice(0, 300)}`);
      }
      return { status: answer.status, body };
    } catch {
      status = `cut ${method}`;
      return null;
    } finally {
      report.answers[status] = (report.answers[status] ?? 0) + 1;
    }
  }

  async function upload(): Promise<void> {
    const from = `203.0.113.${Math.floor(random() * clients)}`;
    const answer = await call('/api/upload?format=png', { method: 'POST', body: PNG, from });
    if (answer?.status !== 201) return;
    const { id, raw_url } = JSON.parse(answer.body) as { id: string; raw_url: string };
    images.push({ id, path: new URL(raw_url).pathname, from });
    acknowledged++;
  }

  /**
   * A deletion may have been done where its answer was lost, and where the answer is that a store did not confirm it in time:
   * such an image is neither stored nor deleted.
   */
  async function remove(): Promise<void> {
    const [image] = images.splice(Math.floor(random() * images.length), 1);
    if (!image) return upload();
    const answer = await call(`/api/delete/${image.id}`, { method: 'DELETE', from: image.from });
    // 404: the copy that had deleted it died, and the balancer has asked another.
    if (answer?.status === 200 || answer?.status === 404) deleted.push(image);
    else if (answer && answer.status !== 503)
      report.faults.push(`deletion of ${image.id}: ${answer.status} ${answer.body}`);
  }

  async function read(): Promise<void> {
    const image = images[Math.floor(random() * images.length)];
    if (!image) return upload();
    const answer = await call(image.path);
    // Another task may have deleted it meanwhile.
    if (answer?.status === 404 && images.includes(image)) report.faults.push(`${image.path}: 404`);
  }

  async function one(): Promise<void> {
    const dice = random();
    if (dice < 0.25) return upload();
    if (dice < 0.6) return read();
    if (dice < 0.68) return remove();
    const paths = ['/api/list', '/api/search?q=png', '/api/stats', '/api/v1/proxies', '/api/status', '/'];
    await call(paths[Math.floor(random() * paths.length)] ?? '/');
  }

  async function killInTurn(): Promise<void> {
    for (; ; report.kills++) {
      const enough = acknowledged + uploadsBetween;
      while (acknowledged < enough) await Bun.sleep(10);
      const copy = fleet.copies[report.kills % fleet.copies.length];
      if (report.kills === kills || !copy) return;
      await replace(copy);
    }
  }

  let ended = false;
  const killing = killInTurn().finally(() => {
    ended = true;
  });
  await Promise.all(
    Array.from({ length: concurrency }, async () => {
      while (!ended) await one();
    }),
  );
  await killing;
  report.stored = images.length;
  for (const { path } of images) if ((await settled(fleet, path)) !== 200) report.lost.push(path);
  // A copy may show a deleted image for two seconds.
  await Bun.sleep(2000);
  for (const { path } of deleted) if ((await settled(fleet, path)) !== 404) report.undead.push(path);
  return report;
}

async function killed(copy: Copy): Promise<void> {
  await copy.kill();
  await Bun.sleep(200);
  await copy.start();
}

interface Answer {
  status: number;
  body: string;
}

function isUnavailable(answer: Response, body: string): boolean {
  return (
    answer.status === 503 &&
    answer.headers.has('retry-after') &&
    (JSON.parse(body) as { code?: unknown }).code === 'unavailable'
  );
}

/** The status once every part answers again. */
async function settled(fleet: Fleet, path: string): Promise<number> {
  for (let tries = 0; tries < 50; tries++) {
    const { status } = await fleet.send(path);
    if (status !== 503) return status;
    await Bun.sleep(100);
  }
  return 503;
}
