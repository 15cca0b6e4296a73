import { expect, test } from 'bun:test';
import { existsSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fillTree } from '../../scripts/build/archive.ts';
import { withFolder } from '../support/temporary.ts';

test('every file that an installed document links to or names is installed with it, unless it is about the source', () =>
  withFolder(async (folder) => {
    const binary = join(folder, 'binary');
    await writeFile(binary, '');
    await mkdir(join(folder, 'tree'));
    await fillTree({ root: process.cwd(), folder: join(folder, 'tree'), binary, licences: '' });
    const installed = join(folder, 'tree/share/doc/picpool');
    const documents = [...new Bun.Glob('**/*.md').scanSync(installed)];
    expect(documents.length).toBeGreaterThan(20);
    const missing: string[] = [];
    const note = (document: string, path: string) => {
      const isOfSource = /^(bench|clients|test|CONTRIBUTING\.md|docs\/screenshots)/.test(path);
      if (!isOfSource && !existsSync(join(installed, path))) missing.push(`${document}: ${path}`);
    };
    for (const document of documents) {
      const text = await Bun.file(join(installed, document)).text();
      const links = [...text.matchAll(/\]\((?!https?:|#)([^)#\s]+)/g)];
      const named = [...text.matchAll(/`(examples\/[\w./-]+|scripts\/verify-release|compose[\w.]*\.yaml)/g)];
      for (const [, path = ''] of links) {
        note(document, join(dirname(document), path));
      }
      for (const [, path = ''] of named) {
        note(document, path);
      }
    }
    expect(missing).toEqual([]);
  }));
