import { copyFile, mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { VERSION } from '../../src/version.ts';
import { pack, put, run } from './archive.ts';
import { PROJECT } from './project.ts';

/** Builds `index.js`, one module for every runtime, and its types. */
export async function buildJsClient(root: string, folder: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  const source = join(root, 'clients/js');
  const entry = join(source, 'src/index.ts');
  await Bun.build({ entrypoints: [entry], outdir: folder, target: 'browser', format: 'esm', throw: true });
  const emit = ['--declaration', '--emitDeclarationOnly', '--noEmit', 'false', '--outDir', folder];
  await run('bun', ['x', 'tsc', '-p', source, ...emit]);
}

/** Packs the npm package of the client, which has no dependencies. */
export async function packJsClient(root: string, folder: string, path: string): Promise<void> {
  const manifest = {
    name: '@picpool/client',
    version: VERSION,
    description: 'The client of picpool, a proxy pool and an image host, for browsers, Bun, Deno and Node.',
    license: 'MIT',
    ...PROJECT.manifest,
    type: 'module',
    sideEffects: false,
    exports: { '.': { types: './index.d.ts', default: './index.js' }, './eden': { types: './eden.d.ts' } },
    engines: { node: '>=20.3' },
  };
  await buildJsClient(root, join(folder, 'package'));
  await put(join(folder, 'package/package.json'), `${JSON.stringify(manifest, null, 2)}\n`);
  for (const [from, to] of [
    ['LICENSE', 'LICENSE'],
    ['clients/js/README.md', 'README.md'],
  ] as const) {
    await copyFile(join(root, from), join(folder, 'package', to));
  }
  await pack(join(folder, 'package'), path);
  await rm(folder, { recursive: true });
}
