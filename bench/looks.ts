/**
 * What the looks of pictures find and miss: `bun bench/looks.ts FOLDER [SHEETS [HALF]]` takes pictures of a folder (JPEG, PNG, WebP), which
 * nobody commits here, of half 1 or 2 of them where one is named, makes copies of each, and compares all with all. Those that are taken for the same are
 * drawn on sheets in the folder SHEETS, one group a row, for a person to say which of them are not. Also: what a look costs, and a
 * search among a million.
 */
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { Glob } from 'bun';
import sharp from 'sharp';
import { type Look, lookOf } from '../src/codec/convert/look.ts';
import { createTable } from '../src/image/records/look-index.ts';
import { ALIKE_BITS, distanceBetween } from '../src/lib/bits.ts';
import { createRandom } from '../test/support/random.ts';

const MOST_PICTURES = 500;
const SIDE = 800;
/** The corners of pictures above this size also count as separate pictures with nothing in common. */
const LARGE = 1900;

sharp.concurrency(1);

const COPIES: Record<string, (picture: Buffer, width: number, height: number) => Promise<Buffer>> = {
  'half as wide, JPEG 80': (picture, width) =>
    sharp(picture)
      .resize(Math.ceil(width / 2))
      .jpeg({ quality: 80 })
      .toBuffer(),
  '200 wide, WebP 75': (picture) => sharp(picture).resize(200).webp({ quality: 75 }).toBuffer(),
  'JPEG 30': (picture) => sharp(picture).jpeg({ quality: 30 }).toBuffer(),
  'cropped by 1 % on all sides': (picture, ...size) => cropped(picture, size, [1, 1, 1, 1]),
  'cropped by 2 % on all sides': (picture, ...size) => cropped(picture, size, [2, 2, 2, 2]),
  'cropped by 2.5 % on all sides': (picture, ...size) => cropped(picture, size, [2.5, 2.5, 2.5, 2.5]),
  'cropped by 3 % on one side': (picture, ...size) => cropped(picture, size, [0, 3, 0, 0]),
};

async function cropped(
  picture: Buffer,
  [width, height]: number[],
  [left, top, right, bottom]: number[],
): Promise<Buffer> {
  const [across, down] = [(width ?? 0) / 100, (height ?? 0) / 100];
  return sharp(picture)
    .extract({
      left: Math.round(across * (left ?? 0)),
      top: Math.round(down * (top ?? 0)),
      width: Math.floor(across * (100 - (left ?? 0) - (right ?? 0))) - 1,
      height: Math.floor(down * (100 - (top ?? 0) - (bottom ?? 0))) - 1,
    })
    .jpeg({ quality: 85 })
    .toBuffer();
}

async function lookAt(file: Buffer): Promise<Look> {
  const { data, info } = await sharp(file).raw().toBuffer({ resolveWithObject: true });
  return lookOf({ data, width: info.width, height: info.height, channels: info.channels as 3 });
}

/** The picture, and where it is large its four corners. */
async function* picturesOf(path: string): AsyncGenerator<Buffer> {
  const { width, height } = await sharp(path).metadata();
  if (Math.min(width, height) < 250) return;
  const whole = await sharp(path)
    .resize(2 * SIDE, 2 * SIDE, { fit: 'inside', withoutEnlargement: true })
    .flatten({ background: '#fff' })
    .jpeg({ quality: 95 })
    .toBuffer();
  yield sharp(whole)
    .resize(SIDE, SIDE, { fit: 'inside', withoutEnlargement: true })
    .jpeg({ quality: 95 })
    .toBuffer();
  if (width < LARGE) return;
  const { width: across, height: down } = await sharp(whole).metadata();
  const corner = { width: Math.floor(across / 2), height: Math.floor(down / 2) };
  for (const [left, top] of [
    [0, 0],
    [corner.width, 0],
    [0, corner.height],
    [corner.width, corner.height],
  ] as const) {
    yield sharp(whole)
      .extract({ left, top, ...corner })
      .jpeg({ quality: 95 })
      .toBuffer();
  }
}

const TILE = 130;
const ACROSS = 12;
const ROWS = 9;

/** Groups of pictures that are taken for each other, directly or through others. */
function groupsOf(pairs: readonly [Seen, Seen][]): Seen[][] {
  const groups = new Map<Seen, Set<Seen>>();
  for (const [one, other] of pairs) {
    const joined = new Set([one, other].flatMap((seen) => [...(groups.get(seen) ?? [seen])]));
    for (const seen of joined) groups.set(seen, joined);
  }
  return [...new Set(groups.values())].map((group) => [...group]);
}

/** Draws each group as a row, with its number before it; what does not fit into it goes on in the next. */
async function drawSheets(groups: readonly Seen[][], to: string): Promise<void> {
  await mkdir(to, { recursive: true });
  const rows = groups.flatMap((group, index) =>
    Array.from({ length: Math.ceil(group.length / ACROSS) }, (_, row) => ({
      label: `<span foreground="white">${index}</span>`,
      seen: group.slice(row * ACROSS, (row + 1) * ACROSS),
    })),
  );
  for (let first = 0; first < rows.length; first += ROWS) {
    const tiles = rows
      .slice(first, first + ROWS)
      .flatMap(({ label, seen }, row) => [
        { input: { text: { text: label, rgba: true, dpi: 150 } }, left: 0, top: row * TILE + 40 },
        ...seen.map(({ small }, column) => ({ input: small, left: 60 + column * TILE, top: row * TILE })),
      ]);
    const [width, height] = [60 + ACROSS * TILE, ROWS * TILE];
    await sharp({ create: { width, height, channels: 3, background: '#888' } })
      .composite(tiles)
      .png({ palette: true })
      .toFile(join(to, `${first / ROWS}.png`));
  }
}

interface Seen {
  name: string;
  phash: string;
  /** The picture in small. */
  small: Buffer;
}

const [folder, sheets, half] = process.argv.slice(2);
if (folder === undefined) throw new Error('usage: bun bench/looks.ts FOLDER [SHEETS [1 or 2]]');
const paths = [...new Glob('**/*.{jpg,jpeg,png,webp}').scanSync({ cwd: folder, absolute: true })];
paths.sort((one, other) => (Bun.hash(one) < Bun.hash(other) ? -1 : 1));
const looks: Seen[] = [];
let plain = 0;
const distances = Object.fromEntries(Object.keys(COPIES).map((name): [string, number[]] => [name, []]));
for (const [index, path] of paths.entries()) {
  if (looks.length >= MOST_PICTURES) break;
  if (half !== undefined && index % 2 !== Number(half) - 1) continue;
  try {
    for await (const picture of picturesOf(path)) {
      const { phash } = await lookAt(picture);
      if (phash === null) {
        plain++;
        continue;
      }
      const { width, height } = await sharp(picture).metadata();
      for (const [name, copy] of Object.entries(COPIES)) {
        const other = (await lookAt(await copy(picture, width, height))).phash;
        const distance = other === null ? Number.POSITIVE_INFINITY : distanceBetween(phash, other);
        distances[name]?.push(distance);
      }
      const small = sharp(picture).resize(TILE - 4, TILE - 4, { fit: 'contain', background: '#444' });
      looks.push({ name: path, phash, small: await small.jpeg().toBuffer() });
    }
  } catch {
    // Not a picture that sharp reads.
  }
}

console.log(
  `${looks.length} pictures, alike up to ${ALIKE_BITS} of 64 bits; ${plain} have too little to be seen`,
);
/** The percentage of distances that are small enough. */
const shareWithin = (bits: number, found: readonly number[]) =>
  (100 * found.filter((distance) => distance <= bits).length) / found.length;
for (const [name, found] of Object.entries(distances)) {
  console.log(`${shareWithin(ALIKE_BITS, found).toFixed(1).padStart(6)} %  ${name}`);
}

const pairs: [Seen, Seen][] = [];
let compared = 0;
/** How many pairs differ in so many bits. */
const apart: number[] = [];
for (const [index, one] of looks.entries()) {
  for (const other of looks.slice(index + 1)) {
    compared++;
    const distance = distanceBetween(one.phash, other.phash);
    apart[distance] = (apart[distance] ?? 0) + 1;
    if (distance <= ALIKE_BITS) pairs.push([one, other]);
  }
}
for (let bits = ALIKE_BITS - 4; bits <= ALIKE_BITS + 4; bits++) {
  const kinds = Object.values(distances);
  const [all, least] = [
    shareWithin(bits, kinds.flat()),
    Math.min(...kinds.map((found) => shareWithin(bits, found))),
  ];
  const taken = apart.slice(0, bits + 1).reduce((sum, count) => sum + (count ?? 0), 0);
  console.log(
    `up to ${bits} bits: ${all.toFixed(1)} % of all copies, ${least.toFixed(1)} % of a kind at least; ${taken} pairs`,
  );
}
const groups = groupsOf(pairs);
console.log(
  `${pairs.length} of ${compared} pairs are taken for the same (${((1e4 * pairs.length) / compared).toFixed(2)} in 10,000), in ${groups.length} groups`,
);
if (sheets !== undefined) await drawSheets(groups, sheets);
for (const [index, group] of groups.entries()) {
  const within = pairs.filter(([one]) => group.includes(one)).length;
  console.log(
    `  ${index}: ${within} pairs; ${group.map(({ name }) => name.slice(folder.length + 1)).join(', ')}`,
  );
}

const random = createRandom(1);
const table = createTable();
const word = () =>
  Math.floor(random() * 2 ** 32)
    .toString(16)
    .padStart(8, '0');
for (let count = 0; count < 1e6; count++) table.add(String(count).padStart(12, '0'), word() + word());
const times = Array.from({ length: 50 }, () => {
  const startedAt = performance.now();
  table.near(word() + word(), ALIKE_BITS, 100);
  return performance.now() - startedAt;
}).sort((one, other) => one - other);
console.log(
  `a search among a million: median ${times[25]?.toFixed(1)} ms, slowest ${times[49]?.toFixed(1)} ms`,
);

const pixels = await sharp({
  create: {
    width: 4000,
    height: 3000,
    channels: 3,
    background: '#345',
    noise: { type: 'gaussian', mean: 120, sigma: 40 },
  },
})
  .raw()
  .toBuffer();
const costs = Array.from({ length: 60 }, () => {
  const { user, system } = process.cpuUsage();
  lookOf({ data: pixels, width: 4000, height: 3000, channels: 3 });
  const after = process.cpuUsage();
  return (after.user + after.system - user - system) / 1000;
});
const warm = costs.slice(30).sort((one, other) => one - other);
console.log(
  `a look at 12 megapixels: first ${costs[0]?.toFixed(1)} ms of CPU, then ${warm[15]?.toFixed(1)} ms`,
);
