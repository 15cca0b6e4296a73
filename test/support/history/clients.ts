import { utimes } from 'node:fs/promises';
import { join } from 'node:path';
import type { Fleet } from '../servers/fleet.ts';
import { PNG } from '../servers/running-server.ts';
import type { Call } from './calls.ts';
import type { HistoryWorld } from './world.ts';
import { ADMIN } from './world.ts';

/** Time limit for an answer, in ms. */
const PATIENCE_MS = 4000;
/** Each has conversion processes of its own. */
const ADDRESSES = 4;
const PAUSE_MS = 20;
const TWO_HOURS_S = 7200;

/** An image that was acknowledged. */
export interface Known {
  id: string;
  path: string;
  token: string;
}

/** Clients that use a fleet and record what they see. */
export type Clients = ReturnType<typeof createClients>;

export function createClients({ fleet, files }: Pick<HistoryWorld, 'fleet' | 'files'>, random: () => number) {
  const calls: Call[] = [];
  const images: Known[] = [];
  const deleted: Known[] = [];
  const unexpected: string[] = [];
  const now = () => performance.now();

  /** The answer, or `null` where there was none in time. */
  async function send(
    ...[path, init]: Parameters<Fleet['send']>
  ): Promise<{ status: number; text: string } | null> {
    try {
      const answer = await fleet.send(path, { ...init, signal: AbortSignal.timeout(PATIENCE_MS) });
      const text = await answer.text();
      const isAway = answer.status === 503 && answer.headers.has('retry-after');
      if (answer.status >= 500 && !isAway) {
        unexpected.push(`${init?.method ?? 'GET'} ${path}: ${answer.status} ${text.slice(0, 200)}`);
      }
      return { status: answer.status, text };
    } catch {
      return null;
    }
  }

  async function upload(): Promise<void> {
    const start = now();
    const from = `203.0.113.${Math.floor(random() * ADDRESSES)}`;
    const answer = await send('/api/upload?format=png', { method: 'POST', body: PNG, from });
    if (answer?.status !== 201) return;
    const { id, raw_url, delete_token: token } = JSON.parse(answer.text) as Record<string, string>;
    calls.push({ kind: 'upload', id: id ?? '', start, end: now() });
    images.push({ id: id ?? '', path: new URL(raw_url ?? '').pathname, token: token ?? '' });
    // What is an hour old is at the mercy of the cleanup.
    const then = Date.now() / 1000 - TWO_HOURS_S;
    await utimes(join(files.folder, `${id}.png`), then, then).catch(() => {});
  }

  async function read({ id, path }: Known, to?: Fleet['copies'][number]): Promise<number | undefined> {
    const start = now();
    const status = (await send(path, { to }))?.status;
    if (status === 200 || status === 404)
      calls.push({ kind: 'read', id, start, end: now(), found: status === 200 });
    return status;
  }

  async function remove(): Promise<void> {
    const [image] = images.splice(Math.floor(random() * images.length), 1);
    if (!image) return;
    const start = now();
    const headers = { 'x-delete-token': image.token };
    const answer = await send(`/api/delete/${image.id}`, { method: 'DELETE', headers });
    // 404: the copy that had deleted it was killed, and the balancer has asked another.
    const done = answer?.status === 200 || answer?.status === 404;
    calls.push({ kind: 'delete', id: image.id, start, end: now(), done });
    deleted.push(image);
  }

  async function watchRefresh(copy: Fleet['copies'][number]): Promise<void> {
    const [start, name] = [now(), `${copy.url} ${copy.incarnation}`];
    const answer = await send('/api/status', { to: copy });
    if (answer?.status !== 200) return;
    const { refresh } = JSON.parse(answer.text) as { refresh: { id: string; state: string } | null };
    if (!refresh) return;
    const running = refresh.state === 'running';
    calls.push({ kind: 'refresh', copy: name, job: refresh.id, start, end: now(), running });
    if (!running) await send('/api/refresh', { method: 'POST', headers: ADMIN });
  }

  async function one(): Promise<void> {
    const dice = random();
    if (dice < 0.3) return upload();
    if (dice < 0.4) return remove();
    const from = dice < 0.75 ? images : deleted;
    const image = from[Math.floor(random() * from.length)];
    if (image) await read(image);
  }

  const repeat = async (work: () => Promise<unknown>, pauseMs: number, ended: AbortSignal) => {
    while (!ended.aborted) {
      await work();
      await Bun.sleep(pauseMs);
    }
  };

  return {
    calls,
    images,
    deleted,
    unexpected,
    read,
    /** Lets that many clients use the fleet at once, until the signal. */
    async use(clients: number, ended: AbortSignal): Promise<void> {
      await send('/api/refresh', { method: 'POST', headers: ADMIN });
      await Promise.all([
        ...Array.from({ length: clients }, () => repeat(one, PAUSE_MS, ended)),
        ...fleet.copies.map((copy) => repeat(() => watchRefresh(copy), 500, ended)),
      ]);
    },
  };
}
