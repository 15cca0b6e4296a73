import { strict as assert } from 'node:assert';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { type HostileFile, hostileCorpus } from '../images/hostile-images.ts';
import { transparent } from '../images/images.ts';
import type { ServerProcess } from '../servers/server-process.ts';
import { hostileRequests, sendRaw } from './hostile-requests.ts';

export interface HostileReport {
  /** How often each status was answered; 0 if the runtime closed the connection because it was not HTTP. */
  statuses: Record<string, number>;
  slowest: { name: string; ms: number };
}

/** An answer takes no longer unless the server hangs. */
const HANG_MS = 60_000;
const FORMATS = ['webp', 'jpeg', 'png', 'avif', 'gif', 'auto'];

/**
 * Uploads `count` hostile files, as many at once as the server has conversion processes, then the requests that attack
 * the reading of bodies. Rejects with an `AssertionError` where an answer is no 2xx or 4xx in the envelope, where
 * the server counts a 500, or leaves temporary files.
 */
export async function attack(server: ServerProcess, count: number, atOnce: number): Promise<HostileReport> {
  const report: HostileReport = { statuses: {}, slowest: { name: '', ms: 0 } };
  const note = (name: string, status: number, ms: number) => {
    report.statuses[status] = (report.statuses[status] ?? 0) + 1;
    if (ms > report.slowest.ms) report.slowest = { name, ms };
  };

  async function send({ name, bytes }: HostileFile, index: number): Promise<void> {
    const startedAt = performance.now();
    const answer = await fetch(`${server.url}/api/upload?format=${FORMATS[index % FORMATS.length]}`, {
      method: 'POST',
      body: new Uint8Array(bytes),
      signal: AbortSignal.timeout(HANG_MS),
    });
    inEnvelope(name, answer.status, await answer.text());
    note(name, answer.status, performance.now() - startedAt);
  }

  const files = (await hostileCorpus(count)).entries();
  await Promise.all(
    Array.from({ length: atOnce }, async () => {
      for (const [index, file] of files) await send(file, index);
    }),
  );
  for (const request of hostileRequests(await transparent())) {
    const { status, body, ms } = await sendRaw(server.url, request, HANG_MS);
    note(request.name, status ?? 0, ms);
    if (request.endless && status === null) continue;
    if (request.status !== undefined) assert.equal(status, request.status, request.name);
    if (request.malformed) assert.ok(status === null || (status >= 400 && status < 500), request.name);
    else inEnvelope(request.name, status ?? 0, body);
  }
  assert.deepEqual(await readdir(join(server.folder, 'tmp')), []);
  // Who breaks a connection sees no answer, but the server counts it.
  const metrics = await (await fetch(`${server.url}/metrics`)).text();
  assert.doesNotMatch(metrics, /_count\{[^}]*status="500"/);
  return report;
}

function inEnvelope(name: string, status: number, body: string): void {
  const context = `${name} was answered ${status}: ${body.slice(0, 200)}`;
  assert.ok((status >= 200 && status < 300) || (status >= 400 && status < 500), context);
  const { success, error, code, request_id: id } = JSON.parse(body);
  assert.equal(success, status < 300, context);
  if (success) return;
  for (const text of [error, code, id]) assert.ok(typeof text === 'string' && text !== '', context);
}
