import type { Testimony, Witness } from '../proxy/targets/testimony.ts';
import type { Engine } from './engine.ts';
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
  /** What went wrong. */
  error?: string | undefined;
  /** How long the exit is shut out. Default: 10 min, doubled each time up to a day. */
  restMs?: number | undefined;
}

/** Whether a report counted, and what follows from it, as the API says it. */
export type Verdict =
  | { counted: false; reason: string }
  /** `rest_seconds`: for how long the exit is now shut out, 0 after a success. `moved`: the session gets another exit. */
  | { counted: true; exit: string; rest_seconds: number; for_all: boolean; moved: boolean };

interface ReportsOptions {
  engine: Engine;
  sessions: Sessions;
  testimony: Pick<Testimony, 'observe'>;
  /** Called with the ID of each proxy that was meant. Default: nobody is told. */
  onReport?: (id: number, report: ExitReport) => void;
}

/** Proxies of one exit for which a report is remembered. */
const MOST_OF_EXIT = 20;

/** Returns what takes reports about exits. */
export function takeReports({ engine, sessions, testimony, onReport }: ReportsOptions) {
  return (witness: Witness, report: ExitReport): Verdict => {
    const { session: name, exit, id, site, ok } = report;
    const session = name === undefined ? undefined : sessions.find(witness.id, name);
    if (name !== undefined && !session?.pinned)
      return { counted: false, reason: 'The session has no exit at the moment.' };
    const isMeant = (upstream: Upstream) =>
      (session === undefined || upstream.key === session.pinned) &&
      (exit === undefined || exitOf(upstream) === exit) &&
      (id === undefined || upstream.id === id);
    const meant = [...engine.upstreams()].filter(isMeant).slice(0, MOST_OF_EXIT);
    const [first] = meant;
    if (first === undefined) {
      const reason = session
        ? 'The session does not leave through this exit, or no longer.'
        : 'The gateway has no such exit.';
      return { counted: false, reason };
    }
    const found = exitOf(first);
    for (const { key } of meant) testimony.observe(witness, site, key, ok);
    const moved = !ok && session?.move() === true;
    const { restMs, forAll } = ok
      ? { restMs: 0, ...engine.bans.accepted(witness, site, found) }
      : engine.bans.refused(witness, site, found, report.restMs);
    for (const upstream of meant) if (upstream.id !== null) onReport?.(upstream.id, report);
    return { counted: true, exit: found, rest_seconds: Math.round(restMs / 1000), for_all: forAll, moved };
  };
}
