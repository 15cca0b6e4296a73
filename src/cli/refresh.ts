import { type Client, createClient, readAnswer, serverOptions } from './client.ts';
import { defineCommand, NO_OPERANDS } from './command.ts';
import { CommandError, EXIT } from './exit.ts';
import { countOf, formatCount } from './format.ts';
import { flag } from './options.ts';
import { createProgress } from './progress.ts';
import { followJob, type Job } from './refresh-events.ts';

const REASONS: Record<string, string> = {
  network_down: 'most lists could not be reached; picpool doctor shows why',
  judge_down: 'no judge responds, so nothing can be tested; picpool doctor shows why',
  interrupted: 'the server stopped during the refresh',
  stopped: 'the server was stopped',
  internal: "an internal error; see the server's log",
};

export const command = defineCommand({
  operands: NO_OPERANDS,
  about: `Starts a refresh of the server's pool, follows it and prints the result. If a refresh is already running, it
follows that one. If the server has an ADMIN_TOKEN, set the same one here.
Exit code 0: the refresh is done; 1: it failed, or could not be followed.`,
  options: {
    ...serverOptions,
    detach: flag('Prints the ID of the refresh and does not wait for it.'),
    json: flag('Prints the result as JSON.'),
  },

  async run({ options, env, terminal }) {
    const client = createClient(options.url, env);
    const { job: begun } = await readAnswer<{ job: Job }>(await client.call('POST', '/api/refresh'));
    if (typeof begun?.id !== 'string') throw new CommandError(`${client.url} is not a picpool server.`);
    if (options.detach) {
      await terminal.print(`${options.json ? JSON.stringify(begun) : begun.id}\n`);
      return EXIT.done;
    }
    if (begun.state === 'done') {
      terminal.say(
        'The pool was refreshed less than 10 minutes ago. To refresh it again already, set ADMIN_TOKEN.',
      );
    }
    const progress = createProgress(terminal, 'checked', () => performance.now());
    const job = await followJob(client, begun.id, (current) => progress.update(standingOf(current)));
    progress.end();
    const failed = await failedLists(client);
    for (const { name, last_error } of failed) terminal.say(`list ${name}: ${last_error}`);
    if (options.json) await terminal.print(`${JSON.stringify(job)}\n`);
    if (job.state === 'failed') {
      const again = job.retry_at ? ` The server tries again at ${job.retry_at} UTC.` : '';
      throw new CommandError(`The refresh failed: ${REASONS[job.error ?? ''] ?? job.error}.${again}`);
    }
    if (!options.json) await terminal.print(`${describe(job, failed.length)}\n`);
    return EXIT.done;
  },
});

function standingOf({ stage, fetched, candidates, checked, alive }: Job) {
  const note = `${formatCount(alive)} alive`;
  return stage === 'fetch' && checked === 0
    ? { done: 0, note: `${formatCount(fetched)} read from the lists` }
    : { done: checked, total: candidates, estimated: stage === 'fetch', note };
}

interface FailedList {
  name: string;
  last_error: string | null;
}

async function failedLists(client: Client): Promise<FailedList[]> {
  const answer = await client.call('GET', '/api/sources?limit=500');
  const { sources } = await readAnswer<{ sources: FailedList[] }>(answer);
  return sources.filter(({ last_error }) => last_error !== null);
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
