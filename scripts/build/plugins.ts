import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { constants, zstdCompressSync } from 'node:zlib';
import type { BunPlugin } from 'bun';
import { ASSETS } from '../../src/assets.ts';
import type { Target } from './targets.ts';

/** Of 19 MB, level 9 saves 11 MB in 1.1 s; level 19 saves 0.7 MB more in 13 s. */
const COMPRESSION = { params: { [constants.ZSTD_c_compressionLevel]: 9 } };

const PLACE = fileURLToPath(new URL('place.ts', import.meta.url));

/** Prefix of the paths of files that are embedded unchanged, which are those below the project's folder. */
const ASSET = '/asset/';

/** Returns the file that an input of the bundler stands for, relative to the project's folder. */
export const fileOfInput = (input: string): string => input.replace(`asset:${ASSET}`, '');

/**
 * Embeds the files that `src/assets.ts` names in the binary. The names of chunks follow from the paths of modules: that of the project's
 * folder must not be among them, so that it is the same binary wherever it is built.
 */
export function bundledAssets(root: string): BunPlugin {
  return {
    name: 'assets',
    setup(build) {
      // Under a separate path, because a file for browsers may also be a module of the program.
      build.onResolve({ filter: /^\/asset\// }, ({ path }) => ({ path, namespace: 'asset' }));
      build.onLoad({ filter: /./, namespace: 'asset' }, async ({ path }) => ({
        contents: await readFile(join(root, path.slice(ASSET.length))),
        loader: 'file',
      }));
      build.onLoad({ filter: /[\\/]src[\\/]assets\.ts$/ }, ({ path }) => {
        const files = ASSETS.map((name) => relative(root, Bun.resolveSync(name, join(path, '..'))));
        const contents = `
          ${files.map((file, index) => `import file${index} from ${JSON.stringify(ASSET + file)};`).join('\n')}
          export const ASSETS = ${JSON.stringify(ASSETS)};
          const places = { ${ASSETS.map((name, index) => `${JSON.stringify(name)}: file${index}`).join(', ')} };
          export const assetPath = (name) => places[name];
        `;
        return { contents, loader: 'js' };
      });
    },
  };
}

/**
 * Embeds sharp's addon and libvips in the binary, replacing sharp's own search for them. Below a common folder the
 * addon finds the library by its linked path, as in `node_modules`.
 */
export function bundledSharp({ platform }: Target, packages: string): BunPlugin {
  return {
    name: 'sharp',
    setup(build) {
      build.onLoad({ filter: /[\\/]sharp[\\/]dist[\\/]sharp\.(mjs|cjs)$/ }, async ({ path }) => {
        const files = [
          await onlyFile(packages, `sharp-${platform}/lib/*.node`),
          await onlyFile(packages, `sharp-libvips-${platform}/lib/libvips-cpp.*`),
        ];
        const entries = files.map(
          ({ name, sha256 }, index) =>
            `{ path: ${JSON.stringify(name)}, source: file${index}, sha256: '${sha256}' }`,
        );
        // Source maps contain this text.
        const specifier = (file: string) => JSON.stringify(`./${relative(dirname(path), file)}`);
        const imports = files.map(
          ({ path: file }, index) => `import file${index} from ${specifier(file)} with { type: 'file' };`,
        );
        const contents = `
          import { loadAddon } from ${specifier(PLACE)};
          ${imports.join('\n')}
          const addon = loadAddon([${entries.join(', ')}]);
          ${path.endsWith('.cjs') ? 'module.exports = addon' : 'export default addon'};
        `;
        return { contents, loader: 'js' };
      });
      build.onLoad(
        { filter: /[\\/]@img[\\/]sharp-.*(\.node|[\\/]libvips-cpp\.[^\\/]+)$/ },
        async ({ path }) => ({
          contents: zstdCompressSync(await readFile(path), COMPRESSION),
          loader: 'file',
        }),
      );
    },
  };
}

async function onlyFile(packages: string, pattern: string) {
  const [name, ...more] = await Array.fromAsync(new Bun.Glob(pattern).scan(join(packages, '@img')));
  if (name === undefined || more.length > 0)
    throw new Error(`${pattern} does not name one file in ${packages}/@img.`);
  const path = join(packages, '@img', name);
  return {
    name,
    path,
    sha256: createHash('sha256')
      .update(await readFile(path))
      .digest('hex'),
  };
}
