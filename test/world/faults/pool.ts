import { faultFor, type PutBack } from './fault.ts';

const fault = faultFor('pool');

/** Faults of the proxy pool. */
export const POOL_FAULTS: readonly PutBack[] = [
  fault('what no judge can decide keeps everything else from being tried', [
    'src/proxy/discovery/discovery.ts',
    'const turn = from.queue.next() ?? (isUndecidedDue() ? undecided.shift()?.turn : undefined);',
    'const turn = undecided.shift()?.turn ?? from.queue.next();',
  ]),
  fault('two copies refresh at once', [
    'src/proxy/refresh/refresh.ts',
    'const lease = await locks.acquire(LOCK, LEASE_MS);\n      if (lease) {',
    'const lease = await locks.acquire(LOCK + random(), LEASE_MS);\n      if (lease) {',
  ]),
  fault('a crash between slot and index gives one site the results of another', [
    'src/proxy/targets/shared-sites.ts',
    '      if (written && (written.site ?? site) !== site) continue;\n',
    '',
  ]),
  fault('a clock that was ahead postpones the next refresh', [
    'src/proxy/refresh/timers.ts',
    'return plannedFor(Math.max(next, isFree ? 0 : first), now, intervalMs * (1 + JITTER / 2));',
    'return plannedFor(Math.max(next, isFree ? 0 : first), now, Number.POSITIVE_INFINITY);',
  ]),
  fault('a clock that was ahead ends the chart', [
    'src/proxy/pool/pool-history.ts',
    'elapsedSince(at, clock.now()) < spanMs',
    'clock.now() - at < spanMs',
  ]),
  fault('a check by a clock that was ahead is not replaced', [
    'adapters/sqlite/proxy-rows.ts',
    ' && known.lastChecked <= now() + SKEW_MS',
    '',
  ]),
  fault('rechecks end for good when the store has failed once', [
    'src/proxy/recheck/recheck.ts',
    "      if (!signal.aborted) log('error', 'rechecks interrupted', { error });\n",
    "      if (!signal.aborted) log('error', 'rechecks interrupted', { error });\n      return;\n",
  ]),
  fault('a proxy whose outcome could not be saved is not tried again in this pass', [
    'src/proxy/discovery/pass.ts',
    'saved.place, firstOpen, ',
    'saved.place, ',
  ]),
  fault('what was being tried by a copy that died is tried by nobody', [
    'src/proxy/discovery/pass.ts',
    'Math.min(saved.place, firstOpen, ...[...running].map(placeOf))',
    'Math.min(saved.place, firstOpen)',
  ]),
  fault(
    'two copies give one place to two sites',
    [
      'src/proxy/targets/shared-sites.ts',
      'const lease = await locks.acquire(lock, LEASE_MS);',
      'const lease = await locks.acquire(lock + Math.random(), LEASE_MS);',
    ],
    [
      'src/proxy/targets/shared-sites.ts',
      "    if (!(await state.setFenced(key, text, token))) throw new Error('another copy writes');",
      '    await state.setFenced(key, text, Number.MAX_SAFE_INTEGER + 0 * token);',
    ],
  ),
  fault('a proxy that has failed its recheck stays on the list', [
    'src/proxy/recheck/recheck.ts',
    '    } else await recorder.add(',
    "    } else if (result.verdict === 'alive') await recorder.add(",
  ]),
];
