import { AppError, inEnglish } from '../errors.ts';
import { createAnswerCache } from '../lib/answer-cache.ts';
import type { Bucket } from '../lib/rate-limiter.ts';
import { sha256 } from '../lib/secret.ts';
import type { StateStore } from '../lib/state.ts';

/** What a token allows. */
export const ROLES = ['upload', 'admin', 'moderator', 'gateway'] as const;
export type Role = (typeof ROLES)[number];

/** What new tokens may be called: the path of a URL can name them all. */
export const TOKEN_NAME = {
  pattern: '^[\\w@-][\\w.@-]{0,63}$',
  rule: 'A name has up to 64 letters, digits and the characters . _ @ -, and does not begin with a dot.',
} as const;

/** Everything about a token except the token itself, which is stored nowhere. */
export interface Token {
  /** Identifies it in logs and limits: the beginning of its SHA-256. */
  id: string;
  name: string;
  role: Role;
  /** How often it may be used; `null`: the limit of the role. */
  rate: Bucket | null;
  /** How many bytes it may transfer; `null`: the limit of the role. */
  quota: Bucket | null;
  /** Milliseconds since 1970. */
  createdAt: number;
}

type NewToken = Pick<Token, 'name' | 'role' | 'rate' | 'quota'>;

interface TokensOptions {
  state: Pick<StateStore, 'get' | 'set' | 'remove' | 'keys'>;
  /** Returns `length` cryptographically random bytes. */
  random: (length: number) => Uint8Array;
  /** Milliseconds since 1970. */
  now: () => number;
}

/** Prefix of each token, by which secret scanners recognise it. */
const PREFIX = 'picpool_';
/** 256 random bits. */
const FORM = /^picpool_[\w-]{43}$/;
const KEY = 'token ';
const REVOKED = '';
const BELIEVED_MS = 500;
const MAX_BELIEVED = 10_000;
const MAX_TOKENS = 1000;

/** What the audit log calls those who act without a token that was issued. */
const OTHERS = ['administrator', 'uploader', 'server'];

const GRANTS: Record<Role, readonly Role[]> = {
  upload: ['upload'],
  admin: ['admin', 'moderator', 'upload'],
  moderator: ['moderator'],
  gateway: ['gateway'],
};

/** Reports whether the text can be a token, so that other secrets are not looked up. */
export function isTokenLike(text: string): boolean {
  return FORM.test(text);
}

export function createTokens({ state, random, now }: TokensOptions) {
  /** By hash. */
  const believed = createAnswerCache<Token | null>({ lifeMs: BELIEVED_MS, most: MAX_BELIEVED, now });

  async function read(hash: string): Promise<Token | null> {
    const text = await state.get(KEY + hash);
    return text === null || text === REVOKED
      ? null
      : { ...(JSON.parse(text) as Omit<Token, 'id'>), id: hash.slice(0, 12) };
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
    /**
     * Returns the facts of the token, or `null` if it does not exist, was revoked, or has another role. An
     * administrator may do everything that uploaders may. The answer may be half a second old.
     */
    async verify(token: string, role: Role): Promise<Token | null> {
      if (!isTokenLike(token)) return null;
      const hash = sha256(token);
      const found = await believed.get(hash, () => read(hash));
      return found !== null && GRANTS[found.role].includes(role) ? found : null;
    },

    /** Returns the facts of the token with that SHA-256, as they are now; `null` if there is none. */
    byHash: read,

    /**
     * Creates a token and returns it, this once. Rejects with `conflict` if the name is taken, or if there are too many
     * tokens.
     */
    async create({ name, role, rate, quota }: NewToken): Promise<string> {
      if (OTHERS.includes(name))
        throw new AppError('conflict', inEnglish(`${name} means somebody else in the audit log.`));
      const standing = await all();
      if (standing.some(({ token }) => token.name === name)) {
        throw new AppError('conflict', inEnglish(`There is already a token named ${name}.`));
      }
      if (standing.length >= MAX_TOKENS) {
        throw new AppError('conflict', inEnglish(`There are already ${MAX_TOKENS} tokens; revoke some.`));
      }
      const token = PREFIX + Buffer.from(random(32)).toString('base64url');
      const facts: Omit<Token, 'id'> = { name, role, rate, quota, createdAt: now() };
      const key = KEY + sha256(token);
      await state.set(key, JSON.stringify(facts));
      // Of two that are created at once, one at least sees the other.
      if ((await all()).filter((other) => other.token.name === name).length === 1) return token;
      await state.remove(key);
      throw new AppError('conflict', inEnglish(`Another token named ${name} is being created. Try again.`));
    },

    /** Lists all that were not revoked, oldest first. */
    list: async () => (await all()).map(({ token }) => token),

    /** Revokes a token. Returns false if none has this name. */
    async revoke(name: string): Promise<boolean> {
      const named = (await all()).filter(({ token }) => token.name === name);
      for (const { hash } of named) {
        await state.set(KEY + hash, REVOKED);
        believed.delete(hash);
      }
      return named.length > 0;
    },
  };
}

/** Tokens that the operator has issued. They are kept in the state store, which all copies of the server share. */
export type Tokens = ReturnType<typeof createTokens>;
