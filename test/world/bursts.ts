import { between, chance, happens, oneOf, whole } from './chance.ts';
import type { Trouble } from './seams.ts';
import { type Mortal, pause, SECOND, trueTime } from './time.ts';

/** The parts of the outside, and how the calls begin that reach them. */
const PARTS = {
  records: ['images.', 'albums.', 'audit.', 'state.', 'locks.', 'proxies.'],
  files: ['files.'],
  receiver: ['webhook'],
};

/** Trouble that comes all at once, as it mostly does: a part of the outside is hardly reached for some time, by one copy or by all. */
export interface Burst {
  part: keyof typeof PARTS;
  /** How the name begins of the only copy that it strikes; `null`: all. */
  victim: string | null;
  trouble: Trouble;
}

/** The trouble of a call, if it is one that a burst has struck. */
export function troubleIn(burst: Burst | null, name: string, caller: Mortal | undefined): Trouble | null {
  if (burst === null || (burst.victim !== null && !caller?.name.startsWith(burst.victim))) return null;
  return PARTS[burst.part].some((prefix) => name.startsWith(prefix)) ? burst.trouble : null;
}

interface Strikes {
  bursts: number;
  /** Until when the last one is over, ms since 1970. */
  until: number;
  parts: readonly Burst['part'][];
  copies: number;
  set(burst: Burst | null): void;
  /** Called some seconds before a part is struck, and some milliseconds before. */
  approaches?(part: Burst['part']): void;
  arrives?(part: Burst['part']): void;
  /** Ends copies whose names begin so: who operates them starts them again. */
  restart?(names: string): void;
  tell(line: string): void;
}

/** Lets one burst follow another. In some of them, copies die again and again, as where a supervisor ends what does not answer. */
export async function strikeAgain(strikes: Strikes): Promise<void> {
  const { bursts, until, parts, copies, set, approaches, arrives, restart, tell } = strikes;
  for (let left = bursts; left > 0; left--) {
    await pause(((until - trueTime()) / (left + 1)) * 2 * chance());
    const part = oneOf(parts);
    const isLong = part === 'receiver';
    // As where another server takes over.
    const isFailover = !isLong && happens(0.4);
    const share = isLong || isFailover || happens(0.3) ? 1 : between(0.2, 0.7);
    const lengthMs = isFailover
      ? between(6, 20) * SECOND
      : SECOND * 10 ** (isLong ? between(2, 3.4) : between(0, 3));
    if (trueTime() + lengthMs > until) continue;
    const death = happens(0.5) ? 0.03 : 0;
    const victim = happens(0.4) ? `copy${whole(0, copies - 1)}.` : null;
    approaches?.(part);
    await pause(8 * SECOND * chance());
    arrives?.(part);
    await pause(25 * chance());
    set({
      part,
      victim,
      trouble: { refused: share / 3, lost: share / 3, late: 0, hangs: share / 3, death },
    });
    tell(`the ${part} are hardly reached for ${Math.round(lengthMs / SECOND)} s`);
    await pause(lengthMs);
    set(null);
    tell(`the ${part} are reached again`);
    if (!happens(0.4)) continue;
    await pause(15 * SECOND * chance());
    restart?.(victim ?? 'copy');
  }
}
