import { randomUUID } from 'node:crypto';
import { createSqliteAudit } from '../../../adapters/sqlite/audit.ts';
import type { Database } from '../../../adapters/sqlite/database.ts';
import { createAudit } from '../../../src/audit/audit.ts';
import { systemClock } from '../../../src/lib/clock.ts';
import type { Locks } from '../../../src/lib/locks.ts';
import type { StateStore } from '../../../src/lib/state.ts';

/** The audit log of a host under test, over its database. */
export function testAudit(
  database: Database,
  { now, ...parts }: { state: StateStore; locks: Locks; now: () => number },
) {
  return createAudit({
    ...parts,
    clock: { now, sleep: systemClock.sleep },
    audit: createSqliteAudit(database),
    keepDays: 365,
    newId: randomUUID,
    hide: (peer) => peer,
    log: () => {},
  });
}
