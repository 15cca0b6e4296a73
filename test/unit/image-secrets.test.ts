import { describe, expect, test } from 'bun:test';
import { randomBytes, scryptSync } from 'node:crypto';
import { createCookieSigner } from '../../src/image/access/cookie.ts';
import { createPasswordHasher } from '../../src/image/access/password.ts';
import { createDeleteToken, createId } from '../../src/image/records/ids.ts';

describe('random texts', () => {
  test('an ID has 12 letters and digits, a delete token 32', () => {
    expect(createId(randomBytes)).toMatch(/^[0-9A-Za-z]{12}$/);
    expect(createDeleteToken(randomBytes)).toMatch(/^[0-9A-Za-z]{32}$/);
  });

  test('bytes that would favour some letters are skipped', () => {
    let calls = 0;
    const source = (length: number) => new Uint8Array(length).fill(calls++ === 0 ? 255 : 61);
    expect(createId(source)).toBe('zzzzzzzzzzzz');
    expect(calls).toBe(2);
  });

  test('every letter and digit occurs', () => {
    const seen = new Set(Array.from({ length: 200 }, () => createId(randomBytes)).join(''));
    expect(seen.size).toBe(62);
  });
});

describe('a password hash', () => {
  const hasher = createPasswordHasher(randomBytes);
  const quick = createPasswordHasher(randomBytes, { costLog2: 6 });

  test('matches only its password, has its own salt and does not contain the password', async () => {
    const [one, two] = await Promise.all([hasher.hash('secret'), hasher.hash('secret')]);
    expect(one).toStartWith('scrypt$15$8$1$');
    expect(one).not.toBe(two);
    expect(await hasher.verify('secret', one)).toBe(true);
    expect(await hasher.verify('Secret', one)).toBe(false);
  });

  test('is the same however a keyboard composes it, also by the hash of a version that did not know that', async () => {
    const [composed, decomposed] = ['Caf\u00e9', 'Cafe\u0301'];
    for (const text of [composed, decomposed]) {
      const encoded = await quick.hash(text);
      expect([await quick.verify(composed, encoded), await quick.verify(decomposed, encoded)]).toEqual([
        true,
        true,
      ]);
    }
    const salt = Buffer.from(randomBytes(16));
    const key = scryptSync(decomposed, salt, 32, { N: 64 });
    const old = `scrypt$6$8$1$${salt.toString('base64url')}$${key.toString('base64url')}`;
    expect(await quick.verify(decomposed, old)).toBe(true);
  });

  test('uses at most 1,024 bytes', async () => {
    const [longest, longer] = ['x'.repeat(1024), 'x'.repeat(1025)];
    // In the form that is hashed, the second one has twice as many.
    for (const text of [longest, '\u0958'.repeat(341)])
      expect(await quick.verify(text, await quick.hash(text))).toBe(true);
    expect(await quick.verify(longer, await quick.hash(longer))).toBe(false);
  });

  test('of another kind, or with impossible parameters, is an error and not a mismatch', async () => {
    const [, ...rest] = (await quick.hash('secret')).split('$');
    await expect(quick.verify('secret', ['bcrypt', ...rest].join('$'))).rejects.toThrow('unknown kind');
    await expect(quick.verify('secret', `scrypt$0$8$1$${rest.slice(3).join('$')}`)).rejects.toThrow();
  });

  test('is refused as busy when too many wait', async () => {
    const encoded = await quick.hash('secret');
    const checks = Array.from({ length: 60 }, () =>
      quick.verify('secret', encoded).catch((error) => error.code),
    );
    const outcomes = await Promise.all(checks);
    expect(outcomes.filter((outcome) => outcome === true)).toHaveLength(34);
    expect(outcomes.filter((outcome) => outcome === 'busy')).toHaveLength(26);
  });
});

describe('the cookie of a protected image', () => {
  const image = { id: 'abcDEF123456', format: 'jpeg', passwordHash: 'scrypt$1' } as const;
  const at = (ms: number, ...keys: string[]) => {
    const verifying = () => (keys.length > 0 ? keys : ['key']);
    return createCookieSigner({ signing: () => verifying()[0] ?? '', verifying }, () => ms);
  };
  const pairOf = (cookie = '') => cookie.split(';')[0] ?? '';
  const [[, pageCookie = ''] = [], [, fileCookie = ''] = []] = at(0).issue(image, {
    origin: 'https://img.example',
    basePath: '/pictures',
  });

  test('covers the page and the direct link, each with its own path', () => {
    const attributes = 'Max-Age=86400; HttpOnly; SameSite=Lax; Secure';
    expect(pageCookie).toEndWith(`; Path=/pictures/i/abcDEF123456; ${attributes}`);
    expect(fileCookie).toEndWith(`; Path=/pictures/i/abcDEF123456.jpg; ${attributes}`);
    expect(at(0).issue(image, { origin: 'http://img.example', basePath: '' })[0]?.[1]).not.toContain(
      'Secure',
    );
  });

  test('opens its image for a day, also among other cookies', () => {
    const header = `a=b; ${pairOf(pageCookie)}; c=d`;
    expect(at(1).opener(header)(image)).toBe(true);
    expect(at(86_399_999).opener(header)(image)).toBe(true);
    expect(at(86_400_000).opener(header)(image)).toBe(false);
  });

  test('opens no other image or password, and is not valid with another key', () => {
    const header = pairOf(pageCookie);
    expect(at(1).opener(header)({ ...image, id: 'abcDEF123457' })).toBe(false);
    expect(at(1).opener(header)({ ...image, passwordHash: 'scrypt$2' })).toBe(false);
    expect(at(1, 'other').opener(header)(image)).toBe(false);
    expect(at(1).opener(null)(image)).toBe(false);
  });

  test('is valid with older keys, and signed with the newest', () => {
    const header = pairOf(pageCookie);
    expect(at(1, 'new', 'key').opener(header)(image)).toBe(true);
    const newest = at(1, 'new', 'key').issue(image, { origin: 'https://img.example', basePath: '' })[0]?.[1];
    expect(at(1, 'new').opener(pairOf(newest))(image)).toBe(true);
    expect(at(1, 'key').opener(pairOf(newest))(image)).toBe(false);
  });

  test('cannot be extended', () => {
    const forged = pairOf(pageCookie).replace('86400000.', '99999999.');
    expect(forged).not.toBe(pairOf(pageCookie));
    expect(at(1).opener(forged)(image)).toBe(false);
  });
});
