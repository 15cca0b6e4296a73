import { describe, expect, test } from 'bun:test';
import { readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { notesOf } from '../../scripts/build/notes.ts';
import { LINKED, linked, whyNotPublishable } from '../../scripts/build/project.ts';
import { VERSION } from '../../src/version.ts';

const root = resolve(import.meta.dir, '..', '..');
const read = (name: string) => readFile(join(root, name), 'utf8');

describe('what is published', () => {
  test.each(LINKED)('%s leads to the addresses of package.json', async (name) => {
    const text = await read(name);
    expect(text).toMatch(/^\[\w+\]: https:/m);
    expect(linked(text)).toBe(text);
  });

  test('links that are not of the project stay as they are', () => {
    expect(linked('[releases]: x\n[other]: y')).toMatch(/^\[releases\]: https:.*\n\[other\]: y$/);
  });

  test('nothing is published with the addresses of examples, or unsigned', () => {
    expect(whyNotPublishable({ RELEASE_KEY: '/key' })).toContain('package.json still has examples');
  });

  test('the changelog has a dated section about this version', async () => {
    expect(notesOf(await read('CHANGELOG.md'), VERSION)).toStartWith('###');
    expect(() => notesOf('## [1.0.0] - 2026-01-31\n- a\n', '1.0.1')).toThrow('has no version 1.0.1');
    expect(() => notesOf('## [1.0.0]\n- a\n', '1.0.0')).toThrow('no date');
    expect(notesOf('## [1.0.1] - 2026-02-28\n- b\n\n## [1.0.0] - 2026-01-31\n- a\n', '1.0.1')).toBe('- b');
  });

  test.each([
    'compose.yaml',
    'compose.simple.yaml',
    'compose.postgres.yaml',
    'examples/kubernetes/picpool.yaml',
  ])('%s names the image of this version', async (name) => {
    const images = [...(await read(name)).matchAll(/image: .*picpool:(?:\$\{\w+:-)?([\d.]+)/g)];
    expect(images.map(([, version]) => version)).toEqual([VERSION]);
  });
});
