import type { StateStore } from '../../lib/state.ts';
import type { JudgeState } from './checker.ts';

const KEY = 'proxy:judges';

interface SharedState extends Pick<JudgeState, 'state' | 'schemes'> {
  witnesses: JudgeState['witnesses']['state'];
  /** When a judge was last asked; ms since 1970. */
  at: number;
}

/**
 * Shares the state of the judges between copies of the server, because only some copies check proxies and ask
 * the judges.
 */
interface SharedJudges {
  /** Publishes what this copy has found out since the last call. */
  tell(): Promise<void>;
  /** The state of the judges as last observed by any copy. */
  latest(): Promise<JudgeState>;
}

export function createSharedJudges(state: StateStore, judges: () => JudgeState): SharedJudges {
  let toldAt = 0;

  async function tell(): Promise<void> {
    const own = judges();
    const at = askedAt(own);
    if (at <= toldAt) return;
    await state.set(
      KEY,
      JSON.stringify({ state: own.state, schemes: own.schemes, witnesses: own.witnesses.state, at }),
    );
    toldAt = at;
  }

  return {
    tell,
    async latest() {
      const own = judges();
      const text = await state.get(KEY);
      if (text === null) return own;
      const { at, witnesses, ...states } = JSON.parse(text) as SharedState;
      if (at <= askedAt(own)) return own;
      return { ...own, ...states, witnesses: { ...own.witnesses, state: witnesses } };
    },
  };
}

function askedAt({ judges }: JudgeState): number {
  return Math.max(0, ...judges.map(({ checkedAt }) => checkedAt ?? 0));
}
