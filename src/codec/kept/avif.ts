import { type Av1Picture, avifOf, MASK } from '../decoders/avif-write.ts';
import { long, short } from '../decoders/bytes.ts';
import { type Box, boxesIn, boxIn, propertiesOf } from '../decoders/heif-boxes.ts';
import { bareIcc } from './icc.ts';
import type { Bare } from './trials.ts';

/** Items that say something about a picture, and are dropped. */
const METADATA = ['Exif', 'mime'];
const MOST_ITEMS = 8;
/** Primaries, transfers and matrices that every viewer shows as sRGB (ITU-T H.273); 2 says nothing. */
const CODES = [
  [1, 2],
  [1, 2, 6, 13],
  [0, 1, 2, 5, 6],
];

interface Item extends Av1Picture {
  id: number;
  type: string;
}

/**
 * Returns a file of one picture in AV1 and, at most, its mask. Returns `null` for all that readers may draw in another way: grids, cropped,
 * turned, hidden, layered and moving pictures, and every property that is not listed. libaom itself refuses bytes behind the last block.
 */
export function bareAvif(file: Buffer, keepsExif: boolean): Bare | null {
  const top = [...boxesIn(file)];
  const meta = top.find(({ type }) => type === 'meta')?.body.subarray(4);
  if (!meta || top.some(({ type }) => !['ftyp', 'meta', 'mdat', 'free', 'skip'].includes(type))) return null;
  const found = picturesIn(meta, file);
  if (!found) return null;
  const { items, picture, masks } = found;
  const told = items.filter(({ type }) => METADATA.includes(type));
  if (told.length + masks.length + 1 !== items.length || (keepsExif && told.length > 0)) return null;
  const references = boxIn(meta, 'iref');
  const number = references[0] === 1 ? long : short;
  const isKnown = [...boxesIn(references.subarray(4))].every(
    ({ type, body }) =>
      (type === 'cdsc' && told.some(({ id }) => body.indexOf(Buffer.from(number(id))) === 0)) ||
      (type === 'auxl' &&
        body.equals(Buffer.from([...number(masks[0]?.id ?? 0), 0, 1, ...number(picture.id)]))),
  );
  const bare = [picture, ...masks].map((item) => bareItem(item, item !== picture));
  const whole = bare.filter((item) => item !== null);
  const [sides, others] = whole.map(({ properties }) => properties.find(({ type }) => type === 'ispe')?.body);
  if (!isKnown || whole.length !== bare.length || (others && sides && !others.equals(sides))) return null;
  return { file: avifOf(whole) };
}

/**
 * Returns a picture, without its metadata, whose mask says how it is turned; `null` if nothing is missing. avifenc 0.11 says it of the picture
 * alone: browsers turn both, and libheif does not turn the mask.
 */
export function withTurnedMask(file: Buffer): Buffer | null {
  const { picture, masks: [mask] = [] } = picturesIn(boxIn(file, 'meta').subarray(4), file) ?? {};
  const turningOf = ({ properties }: Item) => properties.filter(({ type }) => /^(irot|imir)$/.test(type));
  if (!picture || !mask || picture.type !== 'av01' || turningOf(mask).length > 0) return null;
  const turning = turningOf(picture);
  if (turning.length === 0) return null;
  return avifOf([picture, { ...mask, properties: [...mask.properties, ...turning] }]);
}

/** Reports whether the only picture of a file is `narrowGrey` according to its own data. */
export function isNarrowGrey(file: Buffer): boolean {
  const units = unitsIn(picturesIn(boxIn(file, 'meta').subarray(4), file)?.picture.data ?? Buffer.alloc(0));
  return units !== null && headOf(units[0])?.isNarrowGrey === true;
}

/** Returns the items of a file with one picture in AV1 and, at most, its mask. */
function picturesIn(meta: Buffer, file: Buffer) {
  const pitm = boxIn(meta, 'pitm');
  const main = pitm[0] === 0 ? pitm.readUInt16BE(4) : pitm.readUInt32BE(4);
  const types = typesIn(boxIn(meta, 'iinf'), main);
  const items = types && itemsIn(meta, file, types);
  const masks = items?.filter(({ id, type }) => id !== main && type === 'av01');
  const picture = items?.find(({ id }) => id === main);
  return items && picture && masks && masks.length < 2 ? { items, picture, masks } : null;
}

/** Returns the types of the items, or `null` if the main one is hidden. */
function typesIn(iinf: Buffer, main: number): Map<number, string> | null {
  const types = new Map<number, string>();
  for (const { type, body } of boxesIn(iinf.subarray(iinf[0] === 0 ? 6 : 8))) {
    const id = body.readUInt16BE(4);
    if (type !== 'infe' || body.readUInt8(0) !== 2 || (id === main && body.readUInt8(3) & 1)) return null;
    types.set(id, body.toString('latin1', 8, 12));
  }
  return types;
}

function itemsIn(meta: Buffer, file: Buffer, types: Map<number, string>): Item[] | null {
  const iloc = boxIn(meta, 'iloc');
  const [version, sizes] = [iloc.readUInt8(0), iloc.readUInt16BE(4)];
  const [offsetBytes, lengthBytes, baseBytes] = [sizes >> 12, (sizes >> 8) & 15, (sizes >> 4) & 15];
  let at = 6;
  const integer = (bytes: number) => {
    const value = bytes === 0 ? 0 : bytes > 6 ? Number(iloc.readBigUInt64BE(at)) : iloc.readUIntBE(at, bytes);
    at += bytes;
    return value;
  };
  const iprp = boxIn(meta, 'iprp');
  const assigned = [...boxesIn(iprp)].filter(({ type }) => type === 'ipma');
  const all = [...boxesIn(boxIn(iprp, 'ipco'))];
  const count = integer(2);
  if (version > 1 || count !== types.size || count > MOST_ITEMS) return null;
  const items: Item[] = [];
  for (let index = 0; index < count; index++) {
    const id = integer(2);
    const method = version === 0 ? 0 : integer(2) & 15;
    integer(2);
    const base = integer(baseBytes);
    if (method > 1 || integer(2) !== 1 || (version === 1 && (sizes & 15) !== 0)) return null;
    const from = base + integer(offsetBytes);
    const source = method === 1 ? boxIn(meta, 'idat') : file;
    const data = source.subarray(from, from + integer(lengthBytes));
    const places = assigned.flatMap(({ body }) => propertiesOf(body, id));
    const properties = places.flatMap((place) => all[place - 1] ?? []);
    items.push({ id, type: types.get(id) ?? '', data, properties });
  }
  return items;
}

/** Returns an item with its units, or `null` if it has anything that is not on the lists, or its parts disagree. */
function bareItem({ id, type, data, properties }: Item, isMask: boolean): Item | null {
  const units = unitsIn(data);
  const head = units && headOf(units[0]);
  if (type !== 'av01' || !head) return null;
  // Browsers refuse a picture of which these say something else than its units.
  const kept: Box[] = [
    { type: 'av1C', body: head.configuration },
    { type: 'pixi', body: head.depths },
  ];
  for (const { type, body } of properties) {
    const isSquare = type === 'pasp' && body.subarray(0, 4).equals(body.subarray(4));
    if (isSquare || type === 'av1C' || type === 'pixi') continue;
    const kind = type === 'colr' ? body.toString('latin1', 0, 4) : type;
    if (kept.some((one) => one.type === type && one.body.subarray(0, 4).equals(body.subarray(0, 4))))
      return null;
    if (kind === 'prof' || kind === 'rICC') {
      const icc = bareIcc(body.subarray(4));
      if (!icc) return null;
      kept.push({ type, body: Buffer.concat([body.subarray(0, 4), icc]) });
    } else if (kind === 'nclx') {
      if (
        body.readUInt8(10) & 0x7f ||
        CODES.some((codes, at) => !codes.includes(body.readUInt16BE(4 + 2 * at)))
      )
        return null;
      kept.push({ type, body: body.subarray(0, 11) });
    } else if (kind === 'ispe') {
      if (body.readUInt32BE(4) !== head.sides[0] || body.readUInt32BE(8) !== head.sides[1]) return null;
      kept.push({ type, body: body.subarray(0, 12) });
    } else if (kind === 'auxC' && isMask && body.toString('latin1', 4) === MASK) kept.push({ type, body });
    else return null;
  }
  const has = (name: string) => kept.some((one) => one.type === name);
  const isWhole = has('ispe') && has('auxC') === isMask;
  return isWhole ? { id, type, data: Buffer.concat(units), properties: kept } : null;
}

/** Units of AV1, section 6.2.2. */
const [SEQUENCE, DELIMITER, FRAME_HEADER, TILES, METADATA_UNIT, FRAME, PADDING] = [1, 2, 3, 4, 5, 6, 15];

/** Returns the sequence header and the units of the one frame, or `null` for anything else. */
function unitsIn(data: Buffer): [Buffer, ...Buffer[]] | null {
  const kept: Buffer[] = [];
  const kinds: number[] = [];
  for (let at = 0; at < data.length; ) {
    const head = data.readUInt8(at);
    const kind = (head >> 3) & 15;
    // Only units of the base layer that say their size.
    if ((head & 0x87) !== 0x02) return null;
    let [body, size] = [at + 1, 0];
    for (let shift = 0; ; shift += 7) {
      const byte = data.readUInt8(body++);
      size += (byte & 0x7f) * 2 ** shift;
      if (shift > 28) return null;
      if (byte < 0x80) break;
    }
    const end = body + size;
    if (end > data.length) return null;
    if ([SEQUENCE, FRAME_HEADER, TILES, FRAME].includes(kind)) {
      // The last bit that is set ends a unit.
      if (data[end - 1] === 0) return null;
      kinds.push(kind);
      kept.push(data.subarray(at, end));
    } else if (![DELIMITER, METADATA_UNIT, PADDING].includes(kind)) return null;
    at = end;
  }
  return /^1,(6|3(,4)+)$/.test(`${kinds}`) ? (kept as [Buffer, ...Buffer[]]) : null;
}

interface Head {
  sides: readonly [width: number, height: number];
  /** The bodies of `av1C` and `pixi`. */
  configuration: Buffer;
  depths: Buffer;
  /** Whether it has no chroma, and its numbers leave out both ends of the range. */
  isNarrowGrey: boolean;
}

/** Reads the sequence header of a still picture (section 5.5.1). Returns `null` for any other, and for the professional profile. */
function headOf(unit: Buffer): Head | null {
  // A short unit: its head has two bytes.
  if (unit.readUInt8(1) > 127) return null;
  let at = 16;
  const bits = (count: number) => {
    let value = 0;
    for (; count > 0; count--, at++) value = value * 2 + ((unit.readUInt8(at >> 3) >> (7 - (at & 7))) & 1);
    return value;
  };
  const profile = bits(3);
  if (bits(2) !== 3 || profile > 1) return null;
  const level = bits(5);
  const lengths = [bits(4) + 1, bits(4) + 1] as const;
  const sides = [bits(lengths[0]) + 1, bits(lengths[1]) + 1] as const;
  bits(6);
  const isDeep = bits(1);
  const isGrey = profile === 0 ? bits(1) : 0;
  // Codes of the colours.
  if (bits(1)) bits(24);
  const isNarrowGrey = isGrey === 1 && bits(1) === 0;
  const shape = (isDeep << 6) | (isGrey << 4) | (profile === 0 ? 0x0c : 0);
  const depths = new Array(isGrey ? 1 : 3).fill(isDeep ? 10 : 8);
  return {
    sides,
    isNarrowGrey,
    configuration: Buffer.from([0x81, (profile << 5) | level, shape, 0]),
    depths: Buffer.from([0, 0, 0, 0, depths.length, ...depths]),
  };
}
