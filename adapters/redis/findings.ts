import { type Finding, fail, unknown, warn } from '../../src/findings/finding.ts';
import type { RedisConnection } from './connection.ts';

/** Returns the servers' settings that are risky for a store of records, each once. */
export async function redisFindings(redis: Pick<RedisConnection, 'ask'>): Promise<Finding[]> {
  const [facts, ...settings] = await Promise.all([
    redis.ask('INFO'),
    ...['save', 'appendfsync'].map((name) => asked(redis, name)),
  ]);
  const [saves = [], syncs = []] = settings;
  const found = facts.flatMap((text, server) =>
    serverFindings(factsOf(String(text)), saves[server] ?? null, syncs[server] ?? null),
  );
  return found.filter(({ text }, index) => found.findIndex((other) => other.text === text) === index);
}

/** `save` and `sync`: the settings; `null` if the user may not read them. */
function serverFindings(facts: Map<string, string>, save: string | null, sync: string | null): Finding[] {
  const findings: Finding[] = [];
  if (facts.get('role') === 'slave') {
    const master = `${facts.get('master_host')}:${facts.get('master_port')}`;
    findings.push(fail(`The Redis server is a replica of ${master}.`, 'Name the master in METADATA_URL.'));
  }
  if (facts.get('aof_enabled') === '1') {
    if (sync === 'no') {
      const text = 'Redis lets the system decide when records reach the disk (appendfsync no).';
      findings.push(warn(text, 'Set appendfsync everysec, or always.'));
    } else if (sync === null) {
      const text = 'This user may not read how often Redis syncs its log.';
      findings.push(
        unknown(text, 'Give the user +config|get, or make sure that appendfsync is everysec or always.'),
      );
    }
  } else {
    findings.push(warn(withoutLog(save), 'Set appendonly yes.'));
  }
  for (const [name, what] of [
    ['aof_last_write_status', 'log'],
    ['rdb_last_bgsave_status', 'snapshot'],
  ] as const) {
    if ((facts.get(name) ?? 'ok') === 'ok') continue;
    findings.push(
      warn(
        `Redis could not write its last ${what} to the disk.`,
        'Its own log says why; often the disk is full.',
      ),
    );
  }
  const policy = facts.get('maxmemory_policy') ?? 'noeviction';
  if (policy !== 'noeviction') {
    const text = `Redis removes ${policy.startsWith('volatile') ? 'locks and limits' : 'records'} when its memory is full (maxmemory-policy ${policy}).`;
    findings.push(warn(text, 'Set maxmemory-policy noeviction.'));
  }
  return findings;
}

/** Describes how a server without an append-only file persists data. */
function withoutLog(save: string | null): string {
  if (save === '') return 'Redis keeps nothing on its disk: a restart loses all records.';
  const snapshots = save === null ? 'its last snapshot, if it makes any' : 'its last snapshot';
  return `Redis keeps no log of changes (appendonly no): a crash loses the records since ${snapshots}.`;
}

/**
 * Returns a setting of each server, or `null` if the user may not read it: many may not, and managed servers hide
 * some.
 */
async function asked(redis: Pick<RedisConnection, 'ask'>, name: string): Promise<(string | null)[]> {
  const answers = await redis.ask('CONFIG', 'GET', name).catch(() => []);
  return answers.map((answer) => (Array.isArray(answer) && typeof answer[1] === 'string' ? answer[1] : null));
}

function factsOf(text: string): Map<string, string> {
  return new Map(
    text.split('\r\n').flatMap((line) => {
      const colon = line.indexOf(':');
      return colon === -1 ? [] : [[line.slice(0, colon), line.slice(colon + 1)] as const];
    }),
  );
}
