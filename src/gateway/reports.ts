import type { Testimony, Witness } from '../proxy/targets/testimony.ts';
import type { Gateway } from './gateway.ts';
import type { Sessions } from './sessions.ts';
import { exitOf, type Upstream } from './upstream.ts';

/** What a client says of an exit at a site. At least one of the first three names the exit. */
export interface ExitReport {
  session?: string | undefined;
  /** The address that the site saw. */
  exit?: string | undefined;
  /** ID of a proxy of the pool. */
  id?: number | undefined;
  site: string;
  ok: boolean;
  /** How long the exit is shut out. Default: 10 min, doubled each time up to a day. */
  restMs?: number | undefined;
}

/** Whether a report counted, and what follows from it. */
export type Verdict =
  | { counted: false; reason: string }
  /** `restMs`: for how long the exit is now shut out, 0 after a success. `moved`: the session gets another exit. */
  | { counted: true; exit: string; ids: number[]; restMs: number; forAll: boolean; moved: boolean };

interface ReportsOptions {
  gateway: Pick<Gateway, 'engine' | 'bans'>;
  sessions: Sessions;
  testimony: Pick<Testimony, 'observe'>;
}

/** Proxies of one exit for which a report is remembered. */
const MOST_OF_EXIT = 20;

/** Returns what takes reports about exits. */
export function takeReports({ gateway: { engine, bans }, sessions, testimony }: ReportsOptions) {
  return (witness: Witness, { session, exit, id, site, ok, restMs }: ExitReport): Verdict => {
    const pinned = session === undefined ? undefined : (sessions.find(witness.id, session)?.pinned ?? null);
    if (pinned === null) return { counted: false, reason: 'The session has no exit at the moment.' };
    const isMeant = (upstream: Upstream) =>
      (pinned === undefined || upstream.key === pinned) &&
      (exit === undefined || exitOf(upstream) === exit) &&
      (id === undefined || upstream.id === id);
    const meant = new Map<string, Upstream>();
    for (const kind of ['tunnel', 'plain'] as const)
      for (const upstream of engine.upstreams(kind)) if (isMeant(upstream)) meant.set(upstream.key, upstream);
    const [first] = meant.values();
    if (first === undefined) {
      const reason =
        session === undefined
          ? 'The gateway has no such exit.'
          : 'The session does not leave through this exit, or no longer.';
      return { counted: false, reason };
    }
    const found = exitOf(first);
    const some = [...meant.values()].slice(0, MOST_OF_EXIT);
    for (const { key } of some) testimony.observe(witness, site, key, ok);
    const moved = !ok && session !== undefined && sessions.find(witness.id, session)?.move() === true;
    const { restMs: rest, forAll } = ok
      ? { restMs: 0, ...bans.accepted(witness, site, found) }
      : bans.refused(witness, site, found, restMs);
    const ids = some.flatMap((upstream) => upstream.id ?? []);
    return { counted: true, exit: found, ids, restMs: rest, forAll, moved };
  };
}
