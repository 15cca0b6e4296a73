import { cachedFor } from '../../lib/answer-cache.ts';
import type { Clock } from '../../lib/clock.ts';
import type { StateStore } from '../../lib/state.ts';
import { elapsedSince } from '../../lib/stored-time.ts';
import type { CheckBudget } from './check-budget.ts';
import type { JudgeState } from './checker.ts';

interface FleetBudgetOptions {
  state: Pick<StateStore, 'get' | 'set'>;
  budget: CheckBudget;
  clock: Pick<Clock, 'now'>;
  /** Unique name of this copy of the server. */
  copy: string;
}

/** What a copy that does not recheck uses. */
interface Taken {
  copy: string;
  /** Increases with each report. */
  beat: number;
  /** Checks an hour that it gives to discovery. */
  discovery: number;
  /** Rechecks by its refreshes since its start. */
  rechecks: number;
}

const TAKEN_KEY = 'proxy:budget';
const COST_KEY = 'proxy:check-cost';
/** A copy without a report for this long uses nothing. */
const SILENT_MS = 15_000;
/** How often the price of a check is read. */
const COST_EVERY_MS = 30_000;

/**
 * Joins the budgets of all copies of the server into one. One copy rechecks; another may refresh and
 * discover. It reports what it uses, and the first copy leaves that much out. The price of a check, which the
 * first copy computes, applies to all.
 */
export function createFleetBudget({ state, budget, clock, copy }: FleetBudgetOptions) {
  let told = { beat: 0, discovery: 0, rechecks: 0 };
  let heard: { text: string | null; at: number; taken: Taken | null } = { text: null, at: 0, taken: null };
  let toldCost: number | null = null;

  async function tell(): Promise<void> {
    const discovery = Math.round(budget.discovery.perHour);
    const rechecks = budget.rechecks.spent;
    if (discovery === 0 && told.discovery === 0 && rechecks === told.rechecks) return;
    told = { beat: told.beat + 1, discovery, rechecks };
    await state.set(TAKEN_KEY, JSON.stringify({ copy, ...told } satisfies Taken));
  }

  async function hear(): Promise<void> {
    const text = await state.get(TAKEN_KEY);
    if (text !== heard.text) {
      const taken = text === null ? null : (JSON.parse(text) as Taken);
      if (taken && taken.copy !== copy) budget.rechecks.spend(newChecks(taken));
      heard = { text, at: clock.now(), taken };
    }
    const { at, taken } = heard;
    const isCurrent = taken !== null && taken.copy !== copy && elapsedSince(at, clock.now(), 0) < SILENT_MS;
    budget.leave(isCurrent ? taken.discovery : 0);
  }

  /** Returns the number of rechecks since the copy's last report; negative if it has taken some back. */
  function newChecks({ copy: teller, beat, rechecks }: Taken): number {
    const known = heard.taken?.copy === teller ? heard.taken.rechecks : beat === 1 ? 0 : rechecks;
    return rechecks - known;
  }

  const hearCost = cachedFor(COST_EVERY_MS, clock.now, async () => {
    const text = await state.get(COST_KEY);
    if (text !== null) budget.checkCostMs = Number(text);
  });

  async function tellCost(): Promise<void> {
    if (budget.checkCostMs === toldCost) return;
    await state.set(COST_KEY, String(budget.checkCostMs));
    toldCost = budget.checkCostMs;
  }

  /** Sends and receives reports. Call it every second. */
  return async (): Promise<void> => {
    // The next copy that rechecks continues with the last price.
    if (toldCost === null || !budget.isRechecking) await hearCost();
    if (budget.isRechecking) {
      await tellCost();
      await hear();
    } else {
      toldCost = null;
      budget.leave(0);
      await tell();
    }
  };
}

const KEY = 'proxy:judges';

interface SharedState extends Pick<JudgeState, 'state' | 'schemes'> {
  witnesses: JudgeState['witnesses']['state'];
}

/**
 * Shares the state of the judges between copies of the server, because only some copies check proxies and ask
 * the judges.
 */
export function createSharedJudges(state: StateStore, judges: () => JudgeState) {
  let told = '';

  /** Publishes what this copy has found out since the last call. */
  async function tell(): Promise<void> {
    const own = judges();
    const questions = questionsOf(own);
    if (questions === told) return;
    const shared: SharedState = { state: own.state, schemes: own.schemes, witnesses: own.witnesses.state };
    await state.set(KEY, JSON.stringify(shared));
    told = questions;
  }

  return {
    tell,
    /** Returns the state of the judges as last observed by any copy: the last to tell it, whatever the clocks of copies say. */
    async latest(): Promise<JudgeState> {
      const own = judges();
      const text = questionsOf(own) === told ? await state.get(KEY) : null;
      if (text === null) return own;
      const { state: all, schemes, witnesses } = JSON.parse(text) as SharedState;
      return { ...own, state: all, schemes, witnesses: { ...own.witnesses, state: witnesses } };
    },
  };
}

/** Returns what changes with each question to a judge or witness; nothing before the first. */
const questionsOf = ({ judges, witnesses }: JudgeState) =>
  [...judges, ...witnesses.witnesses].map(({ checkedAt }) => checkedAt ?? '').join('');
