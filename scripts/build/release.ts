/**
 * Makes what a release consists of, in `dist/release`: a binary for every machine, its bill of materials, the licence
 * texts, and `SHA256SUMS`. `--target` chooses, as for the build.
 */
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { basename, join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { VERSION } from '../../src/version.ts';
import { compile } from './compile.ts';
import { billOfMaterials, licenceTexts } from './materials.ts';
import { chooseTargets } from './targets.ts';

const root = resolve(import.meta.dir, '..', '..');
const folder = join(root, 'dist', 'release');
const { values } = parseArgs({ options: { target: { type: 'string', default: 'all' } } });

await rm(folder, { recursive: true, force: true });
await mkdir(folder, { recursive: true });
const written: string[] = [];

for (const target of chooseTargets(values.target)) {
  const name = `picpool-${VERSION}-${target.platform}`;
  const { path, bytes, packages } = await compile({ root, target, path: join(folder, name) });
  const bill = await billOfMaterials({ root, packages, binary: { name, sha256: await sha256(path) } });
  written.push(
    path,
    await put(`${name}.cdx.json`, `${JSON.stringify(bill, null, 2)}\n`),
    await put(`${name}.licences.txt`, await licenceTexts(packages)),
  );
  console.log(`${name}  ${(bytes / 1e6).toFixed(1)} MB  ${bill.components.length} components`);
}
const sums = await Promise.all(written.map(async (path) => `${await sha256(path)}  ${basename(path)}\n`));
await put('SHA256SUMS', sums.join(''));

async function put(name: string, text: string): Promise<string> {
  const path = join(folder, name);
  await writeFile(path, text);
  return path;
}

async function sha256(path: string): Promise<string> {
  const hash = createHash('sha256');
  for await (const chunk of createReadStream(path)) hash.update(chunk);
  return hash.digest('hex');
}
