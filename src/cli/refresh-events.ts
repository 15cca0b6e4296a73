import { setTimeout } from 'node:timers/promises';
import { within } from '../lib/deadline.ts';
import { type Client, reasonOf, ServerAway } from './client.ts';
import { CommandError } from './exit.ts';

/** The fields of a refresh that are used here. */
export interface Job {
  id: string;
  state: 'idle' | 'running' | 'done' | 'failed';
  stage: string | null;
  error: string | null;
  retry_at?: string | null;
  fetched: number;
  candidates: number;
  checked: number;
  alive: number;
  skipped: number;
  removed: number;
}

/** The server sends something every 15 s. */
const SILENCE_MS = 60_000;
/** A job with ten thousand lists takes 2 MB. */
const MAX_EVENT_CHARS = 16_000_000;
const PAUSE_MS = 1000;
/** Gives up after this many connections in a row without events. */
const MOST_FAILURES = 5;

/** Follows a job until it has ended, reconnecting if necessary. Returns its final state. */
export async function followJob(client: Client, id: string, onChange: (job: Job) => void): Promise<Job> {
  let reason = 'the connection ended';
  for (let failures = 0; failures < MOST_FAILURES; failures++) {
    try {
      for await (const job of listen(client)) {
        failures = 0;
        if (job.id !== id) throw new CommandError('Another refresh has started.');
        if (job.state === 'done' || job.state === 'failed') return job;
        onChange(job);
      }
    } catch (error) {
      if (error instanceof CommandError && !(error instanceof ServerAway)) throw error;
      reason = reasonOf(error);
    }
    await setTimeout(PAUSE_MS);
  }
  throw new CommandError(`The refresh continues, but cannot be followed (${reason}).`);
}

async function* listen(client: Client): AsyncGenerator<Job> {
  const answer = await client.call('GET', '/api/refresh/events');
  const reader = answer.body?.getReader();
  if (!reader) return;
  const decoder = new TextDecoder();
  let pending = '';
  try {
    for (;;) {
      const piece = await within(SILENCE_MS, reader.read(), 'the server has gone silent');
      if (piece.done) return;
      pending += decoder.decode(piece.value, { stream: true });
      const events = pending.split('\n\n');
      pending = events.pop() ?? '';
      if (pending.length > MAX_EVENT_CHARS) throw new CommandError('An event from the server is too long.');
      for (const event of events) {
        const data = /^data: (.*)$/m.exec(event)?.[1];
        if (data !== undefined) yield JSON.parse(data) as Job;
      }
    }
  } finally {
    await reader.cancel().catch(() => {});
  }
}
