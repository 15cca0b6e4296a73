import { pause } from './politeness.ts';
import type { Remote } from './remote.ts';
import { isSoon } from './remotes.ts';

/** Any judge can prove that our own network works, so all judges together are asked this many times less often. */
const SHARE = 5;

/** Number of judges to try in turn before our own network counts as down. */
const TRIES = 3;

/**
 * Returns a function that reports whether our own network is known to have worked at `since` (monotonic) or
 * later. It asks the judges if necessary; an answer of any judge is enough.
 */
export function createUplink(
  judges: readonly { readonly remote: Remote<unknown> }[],
  monotonic: () => number,
): (since: number) => Promise<boolean> {
  let askedAt = Number.NEGATIVE_INFINITY;
  let question: Promise<void> | null = null;

  /** Asks the judge that may be asked soonest. All checks that doubt our network share the question. */
  function askAnyone(): Promise<void> {
    question ??= (async () => {
      const gapMs = Math.min(...judges.map(({ remote }) => remote.gapMs())) / SHARE;
      await pause(askedAt + gapMs - monotonic());
      askedAt = monotonic();
      question = null;
      const [soonest] = judges
        .filter(({ remote }) => isSoon(remote))
        .sort(
          (a, b) =>
            Number(b.remote.up) - Number(a.remote.up) ||
            a.remote.waitMs() - b.remote.waitMs() ||
            a.remote.askedAt - b.remote.askedAt,
        );
      await soonest?.remote.ask();
    })();
    return question;
  }

  const lastGood = () => Math.max(...judges.map(({ remote }) => remote.provenUpAt));

  return async (since) => {
    for (let n = 0; n < TRIES && lastGood() < since; n++) await askAnyone();
    return lastGood() >= since;
  };
}
