/**
 * Makes `dist/picpool`: one file with the runtime, the program, sharp with libvips, and all assets.
 *
 *   bun run build [--target NAME[,NAME...]|all] [--out FOLDER]
 *
 * With `--target`, each file is named for its machine.
 */

import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { compile } from './build/compile.ts';
import { chooseTargets } from './build/targets.ts';

const root = resolve(import.meta.dir, '..');
const { values } = parseArgs({
  options: { target: { type: 'string' }, out: { type: 'string', default: join(root, 'dist') } },
});
for (const target of chooseTargets(values.target)) {
  const name = values.target === undefined ? 'picpool' : `picpool-${target.platform}`;
  const { path, bytes } = await compile({ root, target, path: resolve(values.out, name) });
  console.log(`${path}  ${(bytes / 1e6).toFixed(1)} MB`);
}
