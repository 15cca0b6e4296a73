import { mkdirSync, symlinkSync } from 'node:fs';
import { createRequire } from 'node:module';
import { arch, platform } from 'node:os';
import { dirname, join } from 'node:path';

/**
 * Bun looks for packages by listing every folder above, which a jail does not allow of the project's own folder: the data may
 * lie there. It also looks into the folders of NODE_PATH, but passes over the `exports` of packages then, by which alone
 * sharp's addon is found. So the addon gets a link under its public name. Answers NODE_PATH; to be called before the jail closes.
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
      // It is for another C library.
    }
  }
  return `${packages}:${links}`;
}
