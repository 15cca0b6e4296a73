import { startPostgres } from '../stores/postgres-server.ts';
import { withPrefix } from '../stores/redis.ts';
import { startRedis } from '../stores/services.ts';

export type RecordsKind = 'redis' | 'postgres';

export async function startRecords(
  kind: RecordsKind,
): Promise<{ url: string; port: number; stop(): Promise<void> }> {
  if (kind === 'postgres') return startPostgres({ fsync: 'on', autovacuum: 'on' });
  const { url, stop } = await startRedis();
  return { url: withPrefix(url), port: Number(new URL(url).port), stop };
}
