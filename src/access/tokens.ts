import { createHash } from 'node:crypto';
import { AppError } from '../errors.ts';
import { BoundedMap } from '../lib/bounded-map.ts';
import type { Bucket } from '../lib/rate-limiter.ts';
import type { StateStore } from '../lib/state.ts';

/** What the holder of a token may do. */
export const ROLES = ['upload', 'admin', 'gateway'] as const;
export type Role = (typeof ROLES)[number];

/** Everything about a token but the token itself, which is stored nowhere. */
export interface Token {
  /** Names it in logs and limits; the beginning of its SHA-256. */
  id: string;
  name: string;
  role: Role;
  /** How often it may be used; `null`: as often as the role allows. */
  rate: Bucket | null;
  /** How many bytes may pass under it; `null`: as many as the role allows. */
  quota: Bucket | null;
  /** Milliseconds since 1970. */
  createdAt: number;
}

export type NewToken = Pick<Token, 'name' | 'role' | 'rate' | 'quota'>;

/** Tokens that the operator has given out. They are kept in the state store, which all copies of the server share. */
export interface Tokens {
  /**
   * The facts of the token, or `null` if there is none, it was revoked, or its role is another. An administrator may
   * do what uploaders may. A copy of the server may believe what it knew half a second ago.
   */
  verify(token: string, role: Role): Promise<Token | null>;
  /** Makes a token and answers it, this once. Rejects with `conflict` for a name that is taken, or when there are too many. */
  create(options: NewToken): Promise<string>;
  /** All that were not revoked, oldest first. */
  list(): Promise<Token[]>;
  /** Ends a token; false if none has this name. */
  revoke(name: string): Promise<boolean>;
}

export interface TokensOptions {
  state: Pick<StateStore, 'get' | 'set' | 'keys'>;
  /** `length` cryptographically random bytes. */
  random: (length: number) => Uint8Array;
  /** Milliseconds since 1970. */
  now: () => number;
}

/** Before each token, so that programs which look for secrets find it. */
const PREFIX = 'picpool_';
/** 256 random bits. */
const FORM = /^picpool_[\w-]{43}$/;
const KEY = 'token ';
const REVOKED = '';
const BELIEVED_MS = 500;
const MAX_BELIEVED = 10_000;
const MAX_TOKENS = 1000;

const GRANTS: Record<Role, readonly Role[]> = {
  upload: ['upload'],
  admin: ['admin', 'upload'],
  gateway: ['gateway'],
};

/** True for text that can be a token, so that other secrets need not be looked up. */
export function isTokenLike(text: string): boolean {
  return FORM.test(text);
}

export function createTokens({ state, random, now }: TokensOptions): Tokens {
  /** By hash, the oldest answer first. */
  const believed = new BoundedMap<string, { at: number; token: Promise<Token | null> }>(MAX_BELIEVED);

  async function read(hash: string): Promise<Token | null> {
    const text = await state.get(KEY + hash);
    return text === null || text === REVOKED
      ? null
      : { ...(JSON.parse(text) as Omit<Token, 'id'>), id: idOf(hash) };
  }

  function find(hash: string): Promise<Token | null> {
    const known = believed.get(hash);
    if (known && Math.abs(now() - known.at) < BELIEVED_MS) return known.token;
    const token = read(hash);
    token.catch(() => believed.delete(hash));
    believed.set(hash, { at: now(), token });
    return token;
  }

  async function all(): Promise<{ hash: string; token: Token }[]> {
    const hashes = (await state.keys())
      .filter((key) => key.startsWith(KEY))
      .map((key) => key.slice(KEY.length));
    const found = await Promise.all(hashes.map(async (hash) => ({ hash, token: await read(hash) })));
    return found
      .flatMap(({ hash, token }) => (token === null ? [] : [{ hash, token }]))
      .sort((one, other) => one.token.createdAt - other.token.createdAt);
  }

  return {
    async verify(token, role) {
      if (!isTokenLike(token)) return null;
      const found = await find(sha256(token));
      return found !== null && GRANTS[found.role].includes(role) ? found : null;
    },

    async create({ name, role, rate, quota }) {
      const standing = await all();
      if (standing.some(({ token }) => token.name === name)) {
        throw new AppError('conflict', `There is already a token named ${name}.`);
      }
      if (standing.length >= MAX_TOKENS) {
        throw new AppError('conflict', `There are already ${MAX_TOKENS} tokens; revoke some.`);
      }
      const token = PREFIX + Buffer.from(random(32)).toString('base64url');
      const facts: Omit<Token, 'id'> = { name, role, rate, quota, createdAt: now() };
      await state.set(KEY + sha256(token), JSON.stringify(facts));
      return token;
    },

    list: async () => (await all()).map(({ token }) => token),

    async revoke(name) {
      const named = (await all()).filter(({ token }) => token.name === name);
      for (const { hash } of named) {
        await state.set(KEY + hash, REVOKED);
        believed.delete(hash);
      }
      return named.length > 0;
    },
  };
}

function idOf(hash: string): string {
  return hash.slice(0, 12);
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
