import { AppError } from '../errors.ts';
import { createAnswerCache } from '../lib/answer-cache.ts';
import { isSecret, sha256 } from '../lib/secret.ts';
import type { StateStore } from '../lib/state.ts';
import { isGoodUntil } from '../lib/stored-time.ts';
import type { Holders } from './holders.ts';
import { isTokenLike, type Token, type Tokens } from './tokens.ts';

/** Somebody who has logged in at `/admin`. */
export interface Session {
  /** Identifies it in the store: the SHA-256 of its cookie. */
  key: string;
  /** Whose it is: the SHA-256 of the token. */
  token: string;
  role: 'admin' | 'moderator';
  name: string;
  /** What each form must bring: no other page can read it. */
  form: string;
}

interface SessionsOptions {
  state: Pick<StateStore, 'get' | 'set' | 'remove' | 'keys'>;
  tokens: Pick<Tokens, 'byHash' | 'list'>;
  holders: Pick<Holders, 'demandCalm' | 'countWrong' | 'charge'>;
  adminToken: string | undefined;
  random: (length: number) => Uint8Array;
  /** Ms since 1970. */
  now: () => number;
}

export const SESSION_COOKIE = 'picpool_admin';
export const SESSION_MS = 12 * 3_600_000;
/** Begins the keys of the state store. */
export const SESSION_KEY = 'session ';
/** Strangers ask, and all tokens have to be read. */
const POSSIBLE_MS = 2000;
/** Of all tokens together. Beyond it, those that are over are removed, or else the oldest of the token with the most. */
const MOST = 500;

export function createSessions(options: SessionsOptions) {
  const { state, tokens, holders, adminToken, random, now } = options;
  const isAdminToken = isSecret(adminToken);
  const known = createAnswerCache<boolean>({ lifeMs: POSSIBLE_MS, now });

  /** Returns who holds the token with that SHA-256 now. */
  async function holderOf(hash: string): Promise<Pick<Session, 'role' | 'name'> | null> {
    if (adminToken !== undefined && hash === sha256(adminToken))
      return { role: 'admin', name: 'administrator' };
    const token = await tokens.byHash(hash);
    return token !== null && mayEnter(token) ? { role: token.role, name: token.name } : null;
  }

  async function read(key: string): Promise<{ token: string; until: number } | null> {
    const text = await state.get(SESSION_KEY + key);
    return text === null ? null : (JSON.parse(text) as { token: string; until: number });
  }

  /** Not asked when sessions are ended: one that a clock ahead has begun is not good now, but would be later. */
  const isGood = (until: number) => isGoodUntil(until, now(), SESSION_MS);

  async function keys(): Promise<string[]> {
    const all = await state.keys();
    return all.filter((key) => key.startsWith(SESSION_KEY)).map((key) => key.slice(SESSION_KEY.length));
  }

  async function makeRoom(): Promise<void> {
    const all = await keys();
    if (all.length < MOST) return;
    const good: { key: string; token: string; until: number }[] = [];
    for (const key of all) {
      const stored = await read(key);
      if (stored !== null && isGood(stored.until)) good.push({ key, ...stored });
      else await state.remove(SESSION_KEY + key);
    }
    if (good.length < MOST) return;
    const [most = []] = [...Map.groupBy(good, ({ token }) => token).values()].sort(
      (one, other) => other.length - one.length,
    );
    const [oldest] = most.sort((one, other) => one.until - other.until);
    if (oldest) await state.remove(SESSION_KEY + oldest.key);
  }

  return {
    /** Reports whether anybody could log in. */
    possible: async () =>
      adminToken !== undefined || known.get('', async () => (await tokens.list()).some(mayEnter)),

    /** Returns the value of the cookie. Rejects with `unauthorized`, and with `rate_limited` after wrong tokens. */
    async open(token: string, peer: string): Promise<string> {
      holders.demandCalm(peer, token);
      const issued = isTokenLike(token) ? await tokens.byHash(sha256(token)) : null;
      if (issued !== null && mayEnter(issued)) await holders.charge(issued, 0);
      else if (!isAdminToken(token)) {
        await holders.countWrong(peer);
        throw new AppError('unauthorized', 'The token is wrong.');
      }
      await makeRoom();
      const value = Buffer.from(random(32)).toString('base64url');
      const session = { token: sha256(token), until: now() + SESSION_MS };
      await state.set(SESSION_KEY + sha256(value), JSON.stringify(session));
      return value;
    },

    /** Returns the session of a request; `null` if there is none, or it is over. */
    async of({ headers }: Request): Promise<Session | null> {
      const [, value] =
        /(?:^|;)\s*picpool_admin=([\w-]{43})\s*(?:;|$)/.exec(headers.get('cookie') ?? '') ?? [];
      if (value === undefined) return null;
      const key = sha256(value);
      const stored = await read(key);
      if (stored === null || !isGood(stored.until)) return null;
      const holder = await holderOf(stored.token);
      return holder && { key, token: stored.token, ...holder, form: sha256(`form ${value}`) };
    },

    /** Ends it; with `everywhere`, all of the same token. */
    async close({ key, token }: Session, everywhere: boolean): Promise<void> {
      const ended = everywhere ? await keys() : [key];
      for (const one of ended) {
        if (one === key || (await read(one))?.token === token) await state.remove(SESSION_KEY + one);
      }
    },
  };
}

/** Sessions of browsers, in the state store. None outlives its token. */
export type Sessions = ReturnType<typeof createSessions>;

const mayEnter = (token: Token): token is Token & Pick<Session, 'role'> =>
  token.role === 'admin' || token.role === 'moderator';
