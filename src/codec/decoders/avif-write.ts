import { long, short } from './bytes.ts';
import type { Box } from './heif-boxes.ts';

/** What a mask is called, in properties and tracks. */
export const MASK = 'urn:mpeg:mpegB:cicp:systems:auxiliary:alpha\0';

/** A picture in AV1, or its mask. */
export interface Av1Picture {
  data: Buffer;
  properties: readonly Box[];
}

function box(type: string, ...parts: (Buffer | number[])[]): Buffer {
  const body = Buffer.concat(parts.map((part) => Buffer.from(part)));
  return Buffer.concat([Buffer.from(long(8 + body.length)), text(type), body]);
}

/** Returns the body of a box of version 0 without flags. */
export const fullBox = (...parts: (Buffer | number[])[]) =>
  Buffer.concat([[0, 0, 0, 0], ...parts].map((part) => Buffer.from(part)));

const text = (value: string) => Buffer.from(value, 'latin1');

/** Writes an AVIF file; the second picture is the mask of the first, by which its colours may be multiplied. */
export function avifOf(items: readonly Av1Picture[], premultiplied = false): Buffer {
  const properties: Buffer[] = [];
  const places = items.map(({ properties: own }) =>
    own.map(({ type, body }) => {
      const written = box(type, body);
      const found = properties.findIndex((one) => one.equals(written));
      return (found < 0 ? properties.push(written) : found + 1) | (type === 'av1C' ? 0x80 : 0);
    }),
  );
  const reference = (type: string, from: number, to: number) => box(type, short(from), short(1), short(to));
  const prem = premultiplied ? [reference('prem', 1, 2)] : [];
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
    const assigned = places.flatMap((own, index) => [...short(index + 1), own.length, ...own]);
    return box(
      'meta',
      long(0),
      box('hdlr', long(0), long(0), text('pict'), Buffer.alloc(13)),
      box('pitm', long(0), short(1)),
      box('iloc', long(0), short(0x4400), short(items.length), located),
      box('iinf', long(0), short(items.length), ...named),
      ...(items.length > 1 ? [box('iref', long(0), reference('auxl', 2, 1), ...prem)] : []),
      box('iprp', box('ipco', ...properties), box('ipma', long(0), long(items.length), assigned)),
    );
  };
  const meta = metaAt(start.length + metaAt(0).length + 8);
  return Buffer.concat([start, meta, box('mdat', ...items.map(({ data }) => data))]);
}
