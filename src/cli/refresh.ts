import { setTimeout } from 'node:timers/promises';
import { countOf, formatCount } from '../lib/format.ts';
import type { jobView } from '../proxy/views.ts';
import { type Client, createClient, serverOptions } from './client.ts';
import { defineCommand } from './command.ts';
import { CommandError, EXIT } from './exit.ts';
import { createProgress } from './progress.ts';

const REASONS: Record<string, string> = {
  network_down: 'most lists could not be reached; picpool doctor shows why',
  lists_failing: 'no list could be read; picpool doctor shows why',
  judge_down: 'no judge responds, so nothing can be tested; picpool doctor shows why',
  interrupted: 'the server stopped during the refresh',
  stopped: 'the server was stopped',
  internal: "an internal error; see the server's log",
};

export const command = defineCommand({
  about: `Starts a refresh of the server's pool, follows it and prints the result. If a refresh is already running, it
follows that one. If the server has an ADMIN_TOKEN, set the same one here.
Exit code 0: the refresh is done; 1: it failed, or could not be followed.`,
  options: serverOptions,

  async run({ options, env, terminal }) {
    const client = createClient(options.url, env, 'PROXY_BASE_PATH');
    const begun = (await client.ask('POST', '/api/refresh', { job: 'object' })).job as Job;
    if (begun.state === 'done') {
      terminal.say(
        'The pool was refreshed less than 10 minutes ago. To refresh it again already, set ADMIN_TOKEN.',
      );
    }
    const progress = createProgress(terminal, 'checked', () => performance.now());
    const job = await followJob(client, begun.id, (current) => progress.update(standingOf(current)));
    progress.end();
    const { sources } = await client.ask('GET', '/api/sources?limit=500', { sources: 'array' });
    const failed = (sources as { name: string; last_error: string | null }[]).filter(
      ({ last_error }) => last_error !== null,
    );
    for (const { name, last_error } of failed) terminal.say(`list ${name}: ${last_error}`);
    if (job.state === 'failed') {
      const again = job.retry_at ? ` The server tries again at ${job.retry_at} UTC.` : '';
      throw new CommandError(`The refresh failed: ${REASONS[job.error ?? ''] ?? job.error}.${again}`);
    }
    await terminal.print(`${describe(job, failed.length)}\n`);
    return EXIT.done;
  },
});

function standingOf({ stage, fetched, candidates, checked, alive }: Job) {
  const note = `${formatCount(alive)} alive`;
  return stage === 'fetch' && checked === 0
    ? { done: 0, note: `${formatCount(fetched)} read from the lists` }
    : { done: checked, total: candidates, estimated: stage === 'fetch', note };
}

function describe({ checked, alive, skipped, removed }: Job, failed: number): string {
  return [
    `${formatCount(alive)} of ${formatCount(checked)} alive`,
    skipped > 0 && `${formatCount(skipped)} left for the next refresh`,
    removed > 0 && `${formatCount(removed)} removed`,
    failed > 0 && `${countOf(failed, 'list')} failed`,
  ]
    .filter((part) => part !== false)
    .join(', ');
}

export type Job = ReturnType<typeof jobView>;

const PAUSE_MS = 1000;
/** Gives up after this many calls in a row without an answer. */
const MOST_FAILURES = 5;

/** Follows a job until it has ended, also while the server restarts. Returns its final state. */
async function followJob(client: Client, id: string, onChange: (job: Job) => void): Promise<Job> {
  for (let failures = 0; ; await setTimeout(PAUSE_MS)) {
    const answer = await client.ask('GET', '/api/refresh', { job: 'object' }).catch((error: unknown) => {
      // What stands in front of a server that restarts answers in its place.
      if (error instanceof CommandError && ++failures < MOST_FAILURES) return null;
      throw error instanceof CommandError
        ? new CommandError(`The refresh continues, but cannot be followed. ${error.message}`)
        : error;
    });
    if (answer === null) continue;
    failures = 0;
    const job = answer.job as Job;
    if (job.id !== id) throw new CommandError('Another refresh has started.');
    if (job.state === 'done' || job.state === 'failed') return job;
    onChange(job);
  }
}
