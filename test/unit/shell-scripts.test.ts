import { expect, test } from 'bun:test';
import { readdir } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { absent } from '../support/absent.ts';
import { run } from '../support/run.ts';

const root = resolve(import.meta.dir, '..', '..');

test.skipIf(absent('shellcheck'))(
  'shellcheck finds nothing in the shell scripts',
  async () => {
    const listed = await run(['git', 'ls-files'], { cwd: root });
    const files = (await readdir(join(root, 'scripts'), { recursive: true })).map(
      (file) => `scripts/${file}`,
    );
    const scripts: string[] = [];
    for (const file of [...files, '.ci/run']) {
      if (!listed.includes(file) || file.endsWith('.ts') || !(await Bun.file(join(root, file)).exists()))
        continue;
      if (/^#!.*\b(ba)?sh\n/.test(await Bun.file(join(root, file)).slice(0, 40).text())) scripts.push(file);
    }
    expect(scripts.length).toBeGreaterThan(20);
    const args = ['--external-sources', '--source-path=SCRIPTDIR', ...scripts];
    await run(['shellcheck', ...args], { cwd: root });
  },
  60_000,
);
