/** Tags of a colour profile that a reader of pictures uses: matrix, curves, white and black (ICC.1:2022, section 9.2). */
const TAGS = ['rXYZ', 'gXYZ', 'bXYZ', 'rTRC', 'gTRC', 'bTRC', 'kTRC', 'wtpt', 'bkpt', 'chad'];
const HEADER_BYTES = 128;
const MOST_TAGS = 64;
/** Longer curves are refused by the decoder here, but not by browsers; and those of 4,096 values hold more than 12 bits need. */
const MOST_VALUES = 4096;
/** Values of a parametric curve by its function (section 10.18). */
const CURVE_VALUES = [1, 3, 4, 5, 7];

/**
 * Returns a profile of RGB or grey with only those tags, or `null` if it has others that change colours, such as tables, or values that
 * do not fill their tags.
 */
export function bareIcc(profile: Buffer): Buffer | null {
  const count = profile.readUInt32BE(HEADER_BYTES);
  const space = profile.toString('latin1', 16, 20);
  if (profile.toString('latin1', 36, 40) !== 'acsp' || count > MOST_TAGS || !['RGB ', 'GRAY'].includes(space))
    return null;
  const kept: { name: string; data: Buffer }[] = [];
  for (let tag = 0; tag < count; tag++) {
    const at = HEADER_BYTES + 4 + tag * 12;
    const name = profile.toString('latin1', at, at + 4);
    if (/^([AB]2[AB]\d|[DB]2[DB]\d|gamt|cicp)$/.test(name)) return null;
    if (!TAGS.includes(name) || kept.some((one) => one.name === name)) continue;
    const data = valueAt(profile, profile.readUInt32BE(at + 4));
    if (data === null) return null;
    kept.push({ name, data });
  }
  if (kept.length === 0) return null;
  return writeProfile(profile.subarray(0, HEADER_BYTES), kept);
}

/** Returns the value of a tag, whose length follows from its type. */
function valueAt(profile: Buffer, at: number): Buffer | null {
  const lengths: Record<string, () => number> = {
    'XYZ ': () => 20,
    sf32: () => 8 + 9 * 4,
    curv: () => 12 + profile.readUInt32BE(at + 8) * 2,
    para: () => 12 + (CURVE_VALUES[profile.readUInt16BE(at + 8)] ?? Infinity) * 4,
  };
  const bytes = lengths[profile.toString('latin1', at, at + 4)]?.() ?? Infinity;
  if (at + bytes > profile.length) return null;
  const value = Buffer.from(profile.subarray(at, at + bytes));
  if (value.toString('latin1', 0, 4) === 'curv' && !isCurve(value.subarray(12))) return null;
  // Reserved.
  value.fill(0, 4, 8);
  return value;
}

/** Reports whether the values rise, as light does and other data do not. */
function isCurve(values: Buffer): boolean {
  if (values.length > 2 * MOST_VALUES) return false;
  for (let at = 2; at < values.length; at += 2)
    if (values.readUInt16BE(at) < values.readUInt16BE(at - 2)) return false;
  return true;
}

function writeProfile(head: Buffer, tags: readonly { name: string; data: Buffer }[]): Buffer {
  const table = Buffer.alloc(4 + tags.length * 12);
  table.writeUInt32BE(tags.length, 0);
  const values: Buffer[] = [];
  let end = HEADER_BYTES + table.length;
  /** By content: equal curves are stored once. */
  const places = new Map<string, number>();
  for (const [index, { name, data }] of tags.entries()) {
    const content = data.toString('latin1');
    const place = places.get(content) ?? end;
    table.write(name, 4 + index * 12, 'latin1');
    table.writeUInt32BE(place, 8 + index * 12);
    table.writeUInt32BE(data.length, 12 + index * 12);
    if (place < end) continue;
    places.set(content, place);
    values.push(data, Buffer.alloc(-data.length & 3));
    end += data.length + (-data.length & 3);
  }
  const header = Buffer.alloc(HEADER_BYTES);
  header.writeUInt32BE(end, 0);
  // Version, class and colour spaces; signature; intent and illuminant.
  head.copy(header, 8, 8, 24);
  head.copy(header, 36, 36, 40);
  head.copy(header, 64, 64, 80);
  return Buffer.concat([header, table, ...values]);
}
