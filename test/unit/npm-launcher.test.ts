import { expect, test } from 'bun:test';
import { copyFile } from 'node:fs/promises';
import { join } from 'node:path';
import { put } from '../../scripts/build/archive.ts';
import { absent } from '../support/absent.ts';
import { withFolder } from '../support/temporary.ts';

/** A shell could not: it leaves a signal ignored that was ignored when it began, as in the background of another shell. */
const PROGRAM = `#!/usr/bin/env node
process.on('SIGINT', () => (console.log('INT'), process.exit(7)));
console.log('begun');
setInterval(() => {}, 1000);
`;

test.skipIf(absent('node'))('the launcher of npm passes on the SIGINT of a process manager', () =>
  withFolder(async (folder) => {
    const at = (...parts: string[]) => join(folder, 'node_modules', ...parts);
    const [launcher, binary] = [at('picpool/bin.js'), `@picpool/${process.platform}-${process.arch}`];
    await put(at('picpool/package.json'), '{"type":"module"}');
    await copyFile('scripts/build/npm-launcher.js', launcher);
    await put(at(binary, 'bin/picpool'), PROGRAM, 0o755);
    const child = Bun.spawn(['node', launcher], { stdio: ['ignore', 'pipe', 'ignore'] });
    let said = '';
    for await (const text of child.stdout.pipeThrough(new TextDecoderStream())) {
      said += text;
      if (said === 'begun\n') child.kill('SIGINT');
    }
    expect([said, await child.exited]).toEqual(['begun\nINT\n', 7]);
  }),
);
