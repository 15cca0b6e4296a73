import { AppError, inEnglish } from '../../src/errors.ts';
import { type Burst, troubleIn } from './bursts.ts';
import { between, chance, happens, oneOf } from './chance.ts';
import { as, current, later, MINUTE, type Mortal, pause, SECOND, trueTime } from './time.ts';

/** How often what goes wrong at a seam, as probabilities of one call. All 0: nothing does. */
export interface Trouble {
  /** It fails, and nothing was done. */
  refused: number;
  /** It was done, but its answer is lost. */
  lost: number;
  /** Its answer takes seconds. */
  late: number;
  /** It hangs until its client gives up. It may be done all the same, and later. */
  hangs: number;
  /** The copy dies as the answer comes. */
  death: number;
}

export const CALM: Trouble = { refused: 0, lost: 0, late: 0, hangs: 0, death: 0 };

/** What a seed decides about the trouble of a world with copies. */
export interface Course {
  /** How long trouble lasts, and how long it may take until everything is right again. */
  chaosMs: number;
  quietMs: number;
  trouble: Trouble;
  /** How often a part of the outside is hardly reached for some time. */
  bursts: number;
  /** Time between deaths of copies; infinite: none dies but at a seam. */
  deathEveryMs: number;
  /** How often a copy dies as soon as a store has done one of several steps. */
  halfway: number;
  /** How long a copy stays dead. */
  deadMs: number;
  /** How far the clock of a copy jumps, and for how long; 0: not. */
  jumpMs: number;
  jumpForMs: number;
}

/**
 * Lets a copy die from time to time, sometimes in order. `victim`: the next one, or `null` once nothing bad happens any more.
 */
export async function killNowAndThen(
  { deathEveryMs }: Course,
  victim: () => (Mortal & { stop?(): Promise<void> }) | undefined | null,
): Promise<void> {
  while (Number.isFinite(deathEveryMs)) {
    await pause(deathEveryMs * 2 * chance());
    const mortal = victim();
    if (mortal === null) return;
    // Its machine may also stand still for a while, or be moved to another one.
    if (mortal && happens(0.3)) {
      mortal.frozenUntil = trueTime() + SECOND * 10 ** between(0.5, 3);
      await pause(mortal.frozenUntil - trueTime() + MINUTE);
      continue;
    }
    if (mortal?.isAlive && happens(0.3)) await Promise.race([mortal.stop?.(), pause(GRACE_MS)]);
    if (mortal) mortal.isAlive = false;
  }
}

/** Lets copies die as soon as a store has done the first of two steps, so that the second never comes. */
export async function dieHalfway(
  { halfway, chaosMs }: Course,
  seams: Seams,
  steps: readonly string[],
): Promise<void> {
  const until = trueTime() + 0.9 * chaosMs;
  for (let count = 0; count < halfway; count++) {
    await pause((chaosMs / (halfway + 1)) * 2 * chance());
    if (trueTime() < until) seams.lastStep = oneOf(steps);
  }
}

/** A copy that has not ended by then is killed. */
const GRACE_MS = 30_000;

/** The clients of the stores give up after this time, in ms. */
const PATIENCE_MS = 5000;
/** A call that its client has given up may still be done within this time, in ms. */
const ASTRAY_MS = 30_000;

/** Where the server asks something of the outside. */
export interface Seams {
  trouble: Trouble;
  burst: Burst | null;
  /** After this step the copy dies that has taken it. */
  lastStep: string | null;
  /** What has no space left: nothing can be added there, but removed. */
  full: 'records' | 'files' | null;
  /** Whether the records are those of a server, whose adapter sends again what was not answered. */
  repeats: boolean;
  /** Latency of most calls, in ms; `null`: every answer comes at once, and nothing goes wrong. */
  latencyMs: number | null;
  /** Returns the same, whose methods are called through the seam. */
  around<T extends object>(name: string, inner: T): T;
  /** Asks for one thing. */
  ask<T>(name: string, work: () => Promise<T>): Promise<T>;
}

/** @param trace called with what happens, in order; @param kill ends a copy. */
export function createSeams(trace: (line: string) => void, kill: (copy: Mortal) => void): Seams {
  const seams: Seams = {
    trouble: CALM,
    burst: null,
    lastStep: null,
    full: null,
    repeats: false,
    latencyMs: 1,
    around,
    ask,
  };

  /** Does the work in nobody's name: what is on its way arrives even if its sender has died. */
  function arrive<T>(afterMs: number, work: () => Promise<T>): Promise<PromiseSettledResult<T>> {
    const sender = current();
    return new Promise((resolve) =>
      later(afterMs, () => {
        const isGone = sender?.isAlive === false && happens(0.5);
        if (isGone) return;
        const done = sender ? as(sender, work) : work();
        done.then(
          (value) => resolve({ status: 'fulfilled', value }),
          (reason) => resolve({ status: 'rejected', reason }),
        );
      }),
    );
  }

  async function ask<T>(name: string, work: () => Promise<T>): Promise<T> {
    const copy = current();
    if (copy?.isAlive === false) return forever();
    const { trouble, burst, latencyMs } = seams;
    if (latencyMs === null) return work();
    const { refused, lost, late, hangs, death } = troubleIn(burst, name, copy) ?? trouble;
    const fate = chance();
    const wayMs = () => latencyMs * (0.2 + chance() ** 3 * 4);
    const tell = (what: string) => trace(`${copy?.name ?? '-'} ${name} ${what}`);
    if (fate < refused) {
      tell('refused');
      await pause(wayMs());
      throw away('refused');
    }
    if (fate < refused + hangs) {
      tell('hangs');
      if (happens(0.5)) void arrive(between(0, ASTRAY_MS), work);
      await pause(PATIENCE_MS);
      throw away('no answer');
    }
    const answer = await arrive(wayMs(), work);
    if ((copy?.frozenUntil ?? 0) > trueTime()) await pause(0);
    if (copy && !copy.isAlive) return forever();
    if (fate < refused + hangs + lost) {
      tell('loses its answer');
      if (seams.repeats && isRepeated(name) && happens(0.5)) return again(name, work);
      await pause(happens(0.5) ? wayMs() : PATIENCE_MS);
      throw away('the connection broke');
    }
    if (fate < refused + hangs + lost + late) await pause(between(100, 4000));
    else if (happens(0.5)) await pause(wayMs());
    if (copy && (seams.lastStep === name || happens(death))) {
      if (seams.lastStep === name) seams.lastStep = null;
      tell('dies');
      kill(copy);
      return forever();
    }
    if (answer.status === 'rejected') throw answer.reason;
    return answer.value;
  }

  /** Asks a second time, as adapters for servers do. */
  async function again<T>(name: string, work: () => Promise<T>): Promise<T> {
    const copy = current();
    await pause(between(20, 1500));
    trace(`${copy?.name ?? '-'} ${name} is repeated`);
    const answer = await arrive(1, work);
    if (copy?.isAlive === false) return forever();
    if (answer.status === 'fulfilled') return answer.value;
    // They recognise what they have inserted.
    const isInserted = name.endsWith('.insert') && (answer.reason as AppError).code === 'conflict';
    if (!isInserted) throw answer.reason;
    return undefined as T;
  }

  function around<T extends object>(name: string, inner: T): T {
    const known = new Map<PropertyKey, unknown>();
    return new Proxy(inner, {
      get(target, key, receiver) {
        const found = known.get(key);
        if (found !== undefined) return found;
        const member: unknown = Reflect.get(target, key, receiver);
        const what = `${name}.${String(key)}`;
        if (typeof member !== 'function' || OWN.has(what)) return member;
        const called = WALKS.has(what)
          ? (...args: unknown[]) => batches(what, member.apply(target, args) as AsyncIterable<unknown>)
          : (...args: unknown[]) => {
              const work = () => member.apply(target, args) as Promise<unknown>;
              if (what === 'state.get' && args[0] === UNCHANGED) return work();
              return ask(what, () =>
                seams.full !== null && ADDING[seams.full].has(what)
                  ? Promise.reject(new AppError('storage_full', inEnglish(`The ${seams.full} are full.`)))
                  : work(),
              );
            };
        known.set(key, called);
        return called;
      },
    });
  }

  async function* batches<T>(what: string, all: AsyncIterable<T>): AsyncGenerator<T> {
    for await (const batch of all) {
      await ask(what, async () => {});
      yield batch;
    }
    await ask(what, async () => {});
  }

  return seams;
}

/** Methods that answer in batches. */
const WALKS = new Set([
  ...['files.list', 'images.looks', 'albums.all'],
  ...['proxies.stream', 'proxies.endpoints', 'proxies.responseTimes'],
]);
/** Methods that need space. */
const ADDING = {
  files: new Set(['files.put']),
  records: new Set([
    ...['images.insert', 'images.change', 'images.takeView'],
    ...['albums.insert', 'albums.replace', 'audit.append', 'audit.advance'],
    ...['state.set', 'state.getOrSet', 'state.setFenced'],
  ]),
};
/** What copies ask for every two seconds, although nobody changes it in a world: the time is better spent otherwise. */
const UNCHANGED = 'cookie-secret';
/** Calls of the records that are sent again when their answer is lost: all but those that must not come twice. */
const isRepeated = (name: string) => /^(images|albums|state|audit|locks)\./.test(name) && !ONCE.has(name);
const ONCE = new Set(['images.remove', 'images.removeIdle', 'images.removeEnded']);
/** Methods that ask nobody. */
const OWN = new Set(['images.preparing', 'images.prepare', 'proxies.version']);

const forever = () => new Promise<never>(() => {});

function away(why: string): AppError {
  return new AppError('unavailable', inEnglish(`The simulated store: ${why}.`), { retryAfterMs: 1000 });
}
