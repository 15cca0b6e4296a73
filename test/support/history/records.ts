import { openPostgres } from '../../../adapters/postgres/connection.ts';
import { migrate } from '../../../adapters/postgres/migrate.ts';
import { startPostgres } from '../stores/postgres-server.ts';
import { withPrefix } from '../stores/redis.ts';
import { startRedis } from '../stores/services.ts';
import type { LeaseEvent } from './calls.ts';
import { type Monitor, startMonitor } from './monitor.ts';

/** A store of records whose leases are watched. */
export interface HistoryRecords {
  url: string;
  port: number;
  monitor(): Promise<Monitor>;
  stop(): Promise<void>;
}

export type RecordsKind = 'redis' | 'postgres';

export const startRecords = (kind: RecordsKind) => (kind === 'redis' ? redisRecords() : postgresRecords());

async function redisRecords(): Promise<HistoryRecords> {
  const redis = await startRedis();
  const port = Number(new URL(redis.url).port);
  return { url: withPrefix(redis.url), port, monitor: () => startMonitor(port), stop: redis.stop };
}

interface Row {
  kind: string;
  name: string;
  owner: string;
  token: number;
}

/** Triggers write down what is granted and written: under the lock of its row, so in the order of the commits. */
const WATCH = `
CREATE TABLE picpool.seen (seq bigint GENERATED ALWAYS AS IDENTITY, kind text, name text, owner text, token bigint);
CREATE FUNCTION picpool.see_grant() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  IF TG_OP = 'INSERT' OR NEW.token <> OLD.token THEN
    INSERT INTO picpool.seen (kind, name, owner, token) VALUES ('grant', NEW.name, NEW.owner, NEW.token);
  END IF;
  RETURN NULL;
END $$;
CREATE FUNCTION picpool.see_fence() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  INSERT INTO picpool.seen (kind, name, owner, token) VALUES ('write', replace(NEW.name, ':', ' '), '', NEW.token);
  RETURN NULL;
END $$;
CREATE FUNCTION picpool.see_state() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  IF NEW.token IS NOT NULL THEN
    INSERT INTO picpool.seen (kind, name, owner, token) VALUES ('write', NEW.key, '', NEW.token);
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER see AFTER INSERT OR UPDATE ON picpool.locks FOR EACH ROW EXECUTE FUNCTION picpool.see_grant();
CREATE TRIGGER see AFTER INSERT OR UPDATE ON picpool.fences FOR EACH ROW EXECUTE FUNCTION picpool.see_fence();
CREATE TRIGGER see AFTER INSERT OR UPDATE ON picpool.state FOR EACH ROW EXECUTE FUNCTION picpool.see_state();
`;

async function postgresRecords(): Promise<HistoryRecords> {
  const server = await startPostgres({ fsync: 'on', autovacuum: 'on' });
  const connection = await openPostgres(server.url, { limitMs: 60_000 });
  await migrate(connection);
  await connection.ask('safe', WATCH);
  return {
    url: server.url,
    port: server.port,
    monitor: async () => ({
      async stop() {
        const rows = await connection.ask<Row>(
          'safe',
          'SELECT kind, name, owner, token FROM picpool.seen ORDER BY seq',
        );
        return rows.map(
          ({ kind, name, owner, token }): LeaseEvent =>
            kind === 'grant'
              ? { kind: 'grant', lock: name, owner, token }
              : { kind: 'write', fence: name, token, changed: true },
        );
      },
    }),
    async stop() {
      await connection.close();
      await server.stop();
    },
  };
}
