import { type Box, boxesIn, boxIn, propertiesOf } from '../decoders/heif-boxes.ts';
import { bareIcc } from './icc.ts';
import { type Bare, CUT_BYTES } from './shortened.ts';

/** Properties of a picture that change what is drawn (ISO/IEC 23008-12, section 6.5; AV1-AVIF, section 2.2). */
const PROPERTIES = ['av1C', 'ispe', 'pixi', 'colr', 'irot', 'imir', 'clap', 'auxC', 'a1op', 'lsel'];
/** Of these, the ones that a reader must understand. */
const ESSENTIAL = ['av1C', 'irot', 'imir', 'clap', 'a1op', 'lsel'];
const ALPHA = 'urn:mpeg:mpegB:cicp:systems:auxiliary:alpha\0';
const MOST_ITEMS = 100;

interface Item {
  id: number;
  data: Buffer;
  properties: Box[];
}

/** Returns a file of the main picture and its mask, with their properties. `null` for grids, layers and other forms. */
export function bareAvif(file: Buffer, keepsExif: boolean): Bare | null {
  const top = [...boxesIn(file)];
  const meta = top.find(({ type }) => type === 'meta')?.body.subarray(4);
  const moves = top.some(({ type }) => type === 'moov');
  if (!meta || moves || keepsExif) return null;
  const pitm = boxIn(meta, 'pitm');
  const main = pitm[0] === 0 ? pitm.readUInt16BE(4) : pitm.readUInt32BE(4);
  const items = itemsIn(meta, file);
  const picture = items?.find(({ id }) => id === main);
  if (!items || !picture?.properties.some(({ type }) => type === 'av1C')) return null;
  const masks = items.filter(
    ({ id, properties }) => id !== main && isMask(properties) && refersTo(meta, id, main),
  );
  if (masks.length > 1) return null;
  const kept = [picture, ...masks].map(bareItem);
  if (!kept.every((item) => item !== null)) return null;
  return {
    file: avifOf(kept),
    *shortened() {
      for (const cut of kept) {
        yield avifOf(
          kept.map((item) => (item === cut ? { ...item, data: item.data.subarray(0, -CUT_BYTES) } : item)),
        );
      }
    },
  };
}

const isMask = (properties: readonly Box[]) =>
  properties.some(({ type, body }) => type === 'auxC' && body.toString('latin1', 4) === ALPHA);

/** Reports whether there is an `auxl` reference between these items, which have 16 bits each (ISO/IEC 14496-12, section 8.11.12). */
function refersTo(meta: Buffer, from: number, to: number): boolean {
  const references = boxIn(meta, 'iref');
  if (references[0] !== 0) return false;
  return [...boxesIn(references.subarray(4))].some(
    ({ type, body }) =>
      type === 'auxl' &&
      body.readUInt16BE(0) === from &&
      body.readUInt16BE(2) === 1 &&
      body.readUInt16BE(4) === to,
  );
}

/** Returns all pictures in AV1 with their data; `null` if the main one can be another. */
function itemsIn(meta: Buffer, file: Buffer): Item[] | null {
  const iloc = boxIn(meta, 'iloc');
  const [version, sizes] = [iloc.readUInt8(0), iloc.readUInt16BE(4)];
  const [offsetBytes, lengthBytes, baseBytes] = [sizes >> 12, (sizes >> 8) & 15, (sizes >> 4) & 15];
  const indexBytes = version === 0 ? 0 : sizes & 15;
  const idBytes = version < 2 ? 2 : 4;
  let at = 6;
  const integer = (bytes: number) => {
    const value = bytes === 0 ? 0 : bytes > 6 ? Number(iloc.readBigUInt64BE(at)) : iloc.readUIntBE(at, bytes);
    at += bytes;
    return value;
  };
  const ipma = boxIn(boxIn(meta, 'iprp'), 'ipma');
  const all = [...boxesIn(boxIn(boxIn(meta, 'iprp'), 'ipco'))];
  const count = integer(idBytes);
  if (version > 2 || count > MOST_ITEMS) return null;
  const items: Item[] = [];
  for (let index = 0; index < count; index++) {
    const id = integer(idBytes);
    const method = version === 0 ? 0 : integer(2) & 15;
    integer(2);
    const base = integer(baseBytes);
    const extents = integer(2);
    if (extents > MOST_ITEMS) return null;
    const source = method === 1 ? boxIn(meta, 'idat') : file;
    const data: Buffer[] = [];
    for (let extent = 0; extent < extents; extent++) {
      integer(indexBytes);
      const from = base + integer(offsetBytes);
      const length = integer(lengthBytes);
      if (length === 0 || from + length > source.length) return null;
      data.push(source.subarray(from, from + length));
    }
    const properties = propertiesOf(ipma, id).flatMap((place) => all[place - 1] ?? []);
    if (method <= 1) items.push({ id, data: Buffer.concat(data), properties });
  }
  return items;
}

/** Returns an item with the allowed properties and units, or `null` if it has a property that must not be left out. */
function bareItem({ id, data, properties }: Item): Item | null {
  const kept: Box[] = [];
  for (const { type, body } of properties) {
    if (!PROPERTIES.includes(type)) continue;
    const isProfile = type === 'colr' && ['prof', 'rICC'].includes(body.toString('latin1', 0, 4));
    const icc = isProfile ? bareIcc(body.subarray(4)) : null;
    if (isProfile && !icc) return null;
    kept.push({ type, body: icc ? Buffer.concat([body.subarray(0, 4), icc]) : body });
  }
  const units = unitsIn(data);
  return units && { id, data: units, properties: kept };
}

/** Types of units that pixels come from: sequence header, frame header, tiles, and frame (AV1, section 6.2.2). */
const UNITS = [1, 3, 4, 6];

function unitsIn(data: Buffer): Buffer | null {
  const kept: Buffer[] = [];
  for (let at = 0; at < data.length; ) {
    const head = data.readUInt8(at);
    // Only units that say their size, which all but the last have to.
    if ((head & 0x82) !== 0x02) return null;
    let [body, size] = [at + 1 + ((head >> 2) & 1), 0];
    for (let shift = 0; ; shift += 7) {
      const byte = data.readUInt8(body++);
      size += (byte & 0x7f) * 2 ** shift;
      if (shift > 28) return null;
      if (byte < 0x80) break;
    }
    if (body + size > data.length) return null;
    if (UNITS.includes((head >> 3) & 15)) kept.push(data.subarray(at, body + size));
    at = body + size;
  }
  return kept.length > 0 ? Buffer.concat(kept) : null;
}

function box(type: string, ...parts: (Buffer | number[])[]): Buffer {
  const body = Buffer.concat(parts.map((part) => Buffer.from(part)));
  const head = Buffer.alloc(8);
  head.writeUInt32BE(8 + body.length, 0);
  head.write(type, 4, 'latin1');
  return Buffer.concat([head, body]);
}

const text = (value: string) => Buffer.from(value, 'latin1');
const short = (value: number) => [value >> 8, value & 0xff];
const long = (value: number) => [...short(value >>> 16), ...short(value & 0xffff)];

/** Writes a file whose items are numbered from 1; the second is the mask of the first. */
function avifOf(items: readonly Item[]): Buffer {
  const properties: Buffer[] = [];
  const places = items.map(({ properties: own }) =>
    own.map(({ type, body }) => {
      const written = box(type, body);
      const found = properties.findIndex((one) => one.equals(written));
      return (found < 0 ? properties.push(written) : found + 1) | (ESSENTIAL.includes(type) ? 0x80 : 0);
    }),
  );
  const start = box('ftyp', text('avif'), long(0), text('avifmif1miaf'));
  const metaAt = (offset: number) => {
    let from = offset;
    const located = items.flatMap(({ data }, index) => {
      const entry = [...short(index + 1), ...short(0), ...short(1), ...long(from), ...long(data.length)];
      from += data.length;
      return entry;
    });
    const named = items.map((_, index) =>
      box('infe', [2, 0, 0, 0], short(index + 1), short(0), text('av01\0')),
    );
    return box(
      'meta',
      long(0),
      box('hdlr', long(0), long(0), text('pict'), Buffer.alloc(13)),
      box('pitm', long(0), short(1)),
      box('iloc', long(0), short(0x4400), short(items.length), located),
      box('iinf', long(0), short(items.length), ...named),
      ...(items.length > 1 ? [box('iref', long(0), box('auxl', short(2), short(1), short(1)))] : []),
      box(
        'iprp',
        box('ipco', ...properties),
        box(
          'ipma',
          long(0),
          long(items.length),
          ...places.map((own, index) => [...short(index + 1), own.length, ...own]),
        ),
      ),
    );
  };
  const meta = metaAt(start.length + metaAt(0).length + 8);
  return Buffer.concat([start, meta, box('mdat', ...items.map(({ data }) => data))]);
}
