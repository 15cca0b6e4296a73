import { mkdirSync, symlinkSync } from 'node:fs';
import { createRequire } from 'node:module';
import { arch, platform } from 'node:os';
import { dirname, join } from 'node:path';

/**
 * Makes sharp's addon resolvable in the sandbox, and returns NODE_PATH. Bun looks for packages by listing every
 * parent folder, which the sandbox forbids for the project's own folder, because the data may be in it. Bun also
 * searches the folders of NODE_PATH, but then ignores the `exports` of packages, without which sharp's addon is not
 * found. So the addon gets a link under its public name. Must be called before the sandbox closes.
 */
export function modulePath(folder: string): string {
  const require = createRequire(import.meta.url);
  const sharp = require.resolve('sharp');
  const packages = sharp.slice(0, sharp.lastIndexOf('/node_modules/') + '/node_modules'.length);
  const links = join(folder, 'modules');
  for (const system of [platform(), `${platform()}musl`]) {
    const name = `@img/sharp-${system}-${arch()}/sharp.node`;
    try {
      const addon = createRequire(sharp).resolve(name);
      mkdirSync(dirname(join(links, name)), { recursive: true });
      symlinkSync(addon, join(links, name));
    } catch {
      // The package is for another C library.
    }
  }
  return `${packages}:${links}`;
}
