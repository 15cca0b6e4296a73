import { every } from './schedule.ts';
import type { StateStore } from './state.ts';
import { plannedFor } from './stored-time.ts';

/** A key, and when it starts to sign, in ms since 1970. */
interface Key {
  key: string;
  from: number;
}

interface KeyRingOptions {
  state: Pick<StateStore, 'get' | 'getOrSet' | 'set'>;
  name: KeyName;
  /** `length` cryptographically random bytes. */
  random: (length: number) => Uint8Array;
  /** Milliseconds since 1970. */
  now: () => number;
}

/** State keys: the keys of cookies that open pictures, and those of our own judge's answers. */
export const KEY_NAMES = ['cookie-secret', 'judge-secret'] as const;
type KeyName = (typeof KEY_NAMES)[number];

const FOLLOW_MS = 2000;
/**
 * Time until a new key signs: by then every copy has read it, even one that pauses after failures of the store
 * (`every`).
 */
export const ADOPTION_MS = 90_000;
const MOST_KEYS = 4;

/** Opens the ring, and creates its first key if there is none. */
export async function openKeyRing({ state, name, random, now }: KeyRingOptions) {
  let keys = parse(await state.getOrSet(name, newKey(random)));

  return {
    /** The key that signs now. */
    signing: () => signingOf(keys, now()),
    /** All keys that verify, newest first. */
    verifying: () => keys.map(({ key }) => key),
    /** Starts to read the changes of other processes. Default: every 2 s. */
    follow: (onError: (error: unknown) => void, intervalMs: number = FOLLOW_MS) =>
      every(
        intervalMs,
        async () => {
          const text = await state.get(name);
          if (text !== null) keys = parse(text);
        },
        onError,
      ),
  };
}

/**
 * Keys with which the copies of the server sign what they recognise later. The newest signs, older ones still verify.
 */
export type KeyRing = Awaited<ReturnType<typeof openKeyRing>>;

/**
 * Adds a key, which signs once all copies know it, and returns that time. With `forget` it signs at once, and
 * everything that older keys have signed becomes invalid.
 */
export async function rotateKeys(
  { state, name, random, now }: KeyRingOptions,
  forget: boolean,
): Promise<number> {
  const key = newKey(random);
  const standing = parse(await state.getOrSet(name, key));
  const from = forget ? now() : now() + ADOPTION_MS;
  const kept = forget ? [] : standing.slice(0, MOST_KEYS - 1);
  await state.set(name, JSON.stringify([{ key, from }, ...kept]));
  return from;
}

function signingOf(keys: readonly Key[], time: number): string {
  const signing = keys.find(({ from }) => plannedFor(from, time, ADOPTION_MS) <= time) ?? keys.at(-1);
  if (!signing) throw new Error('a ring without keys');
  return signing.key;
}

/** The first version stored one key as plain text. */
function parse(text: string): Key[] {
  return text.startsWith('[') ? (JSON.parse(text) as Key[]) : [{ key: text, from: 0 }];
}

function newKey(random: KeyRingOptions['random']): string {
  return Buffer.from(random(32)).toString('base64url');
}
