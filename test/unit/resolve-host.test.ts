import { describe, expect, test } from 'bun:test';
import { resolveHost } from '../../src/lib/resolve-host.ts';

describe('resolveHost', () => {
  test('a local name resolves although DNS does not know it', async () => {
    const found = await resolveHost('localhost');
    expect(found.map(({ address }) => address)).toContain('127.0.0.1');
  });

  test('an unknown name is an error', async () => {
    await expect(resolveHost('nobody-knows.invalid')).rejects.toThrow();
  });
});
