/**
 * Pictures of others: how many are stored larger than they came, without options and with `format=auto`, and what is left of mutated ones.
 * `bun bench/foreign.ts FOLDER [COUNT] [MUTANTS] [KEPT]`: the folder holds pictures of any kind, also in folders below; a folder of its own for each source
 * makes the sample even. KEPT: a folder that gets kept files and what they were uploaded as, so that other readers can compare them.
 */
import { mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseHeader } from '../src/codec/convert/header.ts';
import { startCodec } from '../test/support/codec/codec.ts';
import { mutant } from '../test/support/images/mutants.ts';
import { needlessBytes } from '../test/support/images/needless-bytes.ts';

const [folder = '.', count = '298', mutants = '2000', keptFolder] = process.argv.slice(2);
const [LEAST, MOST] = [5000, 3_000_000];
/** Of each format, in proportion to what people send. */
const SHARES: Record<string, number> = {
  jpeg: 0.27,
  png: 0.23,
  heif: 0.17,
  webp: 0.17,
  gif: 0.13,
  tiff: 0.03,
};

const found = new Map<string, string[]>();
for (const name of (await readdir(folder, { recursive: true })).sort(
  (a, b) => Bun.hash.crc32(a) - Bun.hash.crc32(b),
)) {
  const path = join(folder, name);
  const info = await stat(path);
  if (!info.isFile() || info.size < LEAST || info.size > MOST) continue;
  const kind = parseHeader(Buffer.from(await Bun.file(path).slice(0, 65_536).arrayBuffer()))?.kind ?? '';
  if (kind in SHARES) found.set(kind, [...(found.get(kind) ?? []), path]);
}
const chosen = [...found].flatMap(([kind, paths]) =>
  paths.slice(0, Math.round(Number(count) * (SHARES[kind] ?? 0))),
);

const bench = await startCodec();
if (keptFolder) await mkdir(keptFolder, { recursive: true });
let written = 0;
async function compare(name: string, uploaded: Buffer, { bytes, format }: { bytes: Buffer; format: string }) {
  if (!keptFolder) return;
  const path = join(keptFolder, `${name}-${written++}`);
  await writeFile(`${path}.uploaded.${format}`, uploaded);
  await writeFile(`${path}.kept.${format}`, bytes);
}
const kept: { bytes: Buffer; format: string }[] = [];
for (const format of ['webp', 'auto'] as const) {
  let [stored, larger, silent, asItCame] = [0, 0, 0, 0];
  for (const path of chosen) {
    const file = await readFile(path);
    const made = await bench.convert(file, { format, look: true }).catch(() => null);
    if (!made) continue;
    stored++;
    if (made.original.kept) {
      asItCame++;
      await compare(format, file, made);
    }
    if (made.original.kept && file.length < 200_000) kept.push({ bytes: file, format: made.format });
    if (made.size <= file.length) continue;
    larger++;
    if (!made.warnings.some(({ code }) => code === 'larger')) silent++;
    console.log(`  ${format}: ${path} ${file.length} -> ${made.size}`);
  }
  console.log(
    `format=${format}: ${stored} stored of ${chosen.length}; larger ${larger}, of these without a warning ${silent}; kept ${asItCame}`,
  );
}

let [stored, keptMutants, needless] = [0, 0, 0];
for (let seed = 0; seed < Number(mutants) && kept.length > 0; seed++) {
  const { bytes, format } = kept[seed % kept.length] as (typeof kept)[number];
  const upload = mutant(bytes, format, seed);
  const made = await bench.convert(upload, { format: 'auto' }).catch(() => null);
  if (!made) continue;
  stored++;
  if (!made.original.kept) continue;
  keptMutants++;
  await compare('mutant', upload, made);
  const bytesLeft = needlessBytes(made.bytes, made.format);
  needless += bytesLeft;
  if (bytesLeft > 0) console.log(`  seed ${seed}: ${bytesLeft} bytes in ${made.format}`);
}
console.log(
  `${mutants} mutants: stored ${stored}, kept ${keptMutants}; bytes that no reader needs ${needless}`,
);
await bench.stop();
