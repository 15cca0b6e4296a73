/**
 * Makes what a release consists of, in `dist/release`: for every machine an archive with binary, completions and manual, its bill of
 * materials, the licence texts and an npm package; Debian packages; the npm package `picpool`; `install.sh`.
 * `--target` chooses machines, as for the build. `RELEASE_URL` is where the files will be, and `RELEASE_KEY` the key that signs them:
 * `install.sh` knows both. `RELEASE_LEVEL`, from 1 to 9, is how hard it compresses.
 */
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { VERSION } from '../../src/version.ts';
import { fillTree, pack, releaseName } from './archive.ts';
import { compile } from './compile.ts';
import { DEBIAN_CPU, packDeb } from './deb.ts';
import { installScript } from './install-script.ts';
import { packJsClient } from './js-client.ts';
import { billOfMaterials, licenceTexts } from './materials.ts';
import { packLauncher, packPlatform } from './npm.ts';
import { chooseTargets, TARGETS, type Target } from './targets.ts';

const root = resolve(import.meta.dir, '..', '..');
const folder = join(root, 'dist', 'release');
/** Where files are put together; the binaries stay there for the container. */
const scratch = join(root, 'dist', 'parts');
const { values } = parseArgs({ options: { target: { type: 'string', default: 'all' } } });

for (const path of [folder, scratch]) {
  await rm(path, { recursive: true, force: true });
  await mkdir(path, { recursive: true });
}
for (const target of chooseTargets(values.target)) await release(target);
await packLauncher({
  root,
  platforms: TARGETS.map(({ platform }) => platform),
  folder: join(scratch, 'npm-picpool'),
  path: join(folder, `npm-picpool-${VERSION}.tgz`),
});
await packJsClient(root, join(scratch, 'npm-client'), join(folder, `npm-picpool-client-${VERSION}.tgz`));
await writeFile(join(folder, 'install.sh'), await installScript(root, process.env), { mode: 0o755 });

async function release(target: Target): Promise<void> {
  const name = releaseName(target.platform);
  const at = (...parts: string[]) => join(scratch, target.platform, ...parts);
  const { path: binary, bytes, packages } = await compile({ root, target, path: at('picpool') });
  const licences = await licenceTexts(packages);
  const bill = await billOfMaterials({ root, packages, binary: { name, sha256: await sha256(binary) } });
  await writeFile(join(folder, `${name}.cdx.json`), `${JSON.stringify(bill, null, 2)}\n`);
  await writeFile(join(folder, `${name}.licences.txt`), licences);

  await fillTree({ root, folder: at(name), binary, licences });
  const npmPath = join(folder, `npm-picpool-${target.platform}-${VERSION}.tgz`);
  const debPath = join(folder, `picpool_${VERSION}_${DEBIAN_CPU[target.cpu]}.deb`);
  await Promise.all([
    pack(at(name), join(folder, `${name}.tar.gz`)),
    packPlatform({ target, binary, licences, folder: at('npm'), path: npmPath }),
    target.libc === 'glibc' &&
      packDeb({ root, folder: at('deb'), binary, licences, cpu: target.cpu, path: debPath }),
  ]);
  for (const part of [name, 'npm', 'deb']) await rm(at(part), { recursive: true, force: true });
  console.log(`${name}  ${(bytes / 1e6).toFixed(1)} MB  ${bill.components.length} components`);
}

async function sha256(path: string): Promise<string> {
  const hash = createHash('sha256');
  for await (const chunk of createReadStream(path)) hash.update(chunk);
  return hash.digest('hex');
}
