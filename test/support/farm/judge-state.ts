import type { JudgeState } from '../../../src/proxy/check/checker.ts';

/** Judges of both kinds that are all in this state, and no witnesses. */
export function judgeState(state: JudgeState['state'], judges: JudgeState['judges'] = []): JudgeState {
  return {
    state,
    schemes: { http: state, https: state },
    judges,
    witnesses: { state: 'none', witnesses: [] },
  };
}
