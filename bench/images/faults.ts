import { attack } from '../../test/support/clients/hostile-uploads.ts';
import { killRounds } from '../../test/support/servers/kill-rounds.ts';
import { isRunning } from '../../test/support/servers/processes.ts';
import { withFolder } from '../../test/support/temporary.ts';
import { atMost, type Row } from './row.ts';
import { withServer } from './uploads.ts';

const DEADLINE_S = 3;
const SEED = 20_260_101;

/** Hostile files and requests: their answers, and the longest time one takes. */
export function hostile(): Promise<Row[]> {
  const env = { IMAGE_CONVERT_TIMEOUT: `${DEADLINE_S}s`, IMAGE_MAX_UPLOAD: '4MiB', IMAGE_WORKERS: '2' };
  return withServer(env, async (server) => {
    const { statuses, slowest } = await attack(server, 500, 2);
    if (!(await isRunning(server.pid))) throw new Error('the server has ended');
    const counts = Object.entries(statuses).map(([status, count]) => `${count} x ${status}`);
    const detail = `${slowest.name}; ${counts.join(', ')}`;
    const goal = (DEADLINE_S + 0.5) * 1000;
    return [atMost('the slowest answer to 500 hostile files and more', goal, slowest.ms, 'ms', detail)];
  });
}

/** SIGKILL at random moments. Rejects if anything acknowledged is lost. */
export async function kills(rounds: number): Promise<Row[]> {
  const { uploaded, deleted, cleanedUp, leftovers } = await withFolder((folder) =>
    killRounds('bun', folder, rounds, SEED),
  );
  const reached = `nothing lost of ${uploaded} uploads, ${deleted} deletions, ${cleanedUp} cleaned up; ${leftovers} temporary files swept`;
  return [{ what: `kill -9 at ${rounds} random moments`, goal: 'nothing lost', reached, met: true }];
}
