import { bareIcc } from './icc.ts';
import { type Bare, CUT_BYTES } from './shortened.ts';

interface Chunk {
  type: string;
  data: Buffer;
}

/** Bits of the header of the extended format (RFC 9649, section 2.7). */
const [ANIMATION, XMP, EXIF, ALPHA, PROFILE] = [0x02, 0x04, 0x08, 0x10, 0x20];
const FRAME_BYTES = 16;

/** Returns the chunks of pixels, frames, profile, and EXIF and XMP if they are kept. */
export function bareWebp(file: Buffer, keepsExif: boolean): Bare | null {
  const end = 8 + file.readUInt32LE(4);
  const chunks = end <= file.length ? chunksIn(file.subarray(12, end)) : null;
  const [first, ...rest] = chunks ?? [];
  if (!first) return null;
  if (first.type !== 'VP8X') return isPicture(first.type) ? bareOf([first]) : null;
  if (first.data.length !== 10) return null;
  const kept: Chunk[] = [];
  let flags = 0;
  for (const { type, data } of rest) {
    if (type === 'ICCP') {
      const icc = bareIcc(data);
      if (!icc) return null;
      kept.push({ type, data: icc });
      flags |= PROFILE;
    } else if (type === 'ANIM' && data.length === 6) {
      kept.push({ type, data });
      flags |= ANIMATION;
    } else if (type === 'ANMF') {
      const inside = chunksIn(data.subarray(FRAME_BYTES))?.filter(
        ({ type }) => type === 'ALPH' || isPicture(type),
      );
      if (!inside || !isFrame(inside)) return null;
      kept.push({ type, data: Buffer.concat([data.subarray(0, FRAME_BYTES), ...inside.flatMap(written)]) });
    } else if (type === 'ALPH' || isPicture(type)) kept.push({ type, data });
    else if (keepsExif && (type === 'EXIF' || type === 'XMP ')) {
      kept.push({ type, data });
      flags |= type === 'EXIF' ? EXIF : XMP;
    }
  }
  const still = kept.filter(({ type }) => type === 'ALPH' || isPicture(type));
  const frames = kept.filter(({ type }) => type === 'ANMF');
  const isAnimated = (flags & ANIMATION) !== 0;
  if (isAnimated ? still.length > 0 || frames.length === 0 : frames.length > 0 || !isFrame(still))
    return null;
  const header = Buffer.alloc(10);
  header[0] = flags | ((first.data[0] ?? 0) & ALPHA);
  first.data.copy(header, 4, 4);
  return bareOf([{ type: 'VP8X', data: header }, ...kept]);
}

const isPicture = (type: string) => type === 'VP8 ' || type === 'VP8L';

/** Reports whether these are one picture, with a mask before it or not. */
function isFrame(chunks: readonly Chunk[]): boolean {
  const types = chunks.map(({ type }) => type).join();
  return types === 'VP8 ' || types === 'VP8L' || types === 'ALPH,VP8 ';
}

function chunksIn(bytes: Buffer): Chunk[] | null {
  const chunks: Chunk[] = [];
  for (let at = 0; at < bytes.length; ) {
    const size = bytes.readUInt32LE(at + 4);
    if (at + 8 + size > bytes.length) return null;
    chunks.push({ type: bytes.toString('latin1', at, at + 4), data: bytes.subarray(at + 8, at + 8 + size) });
    at += 8 + size + (size % 2);
  }
  return chunks;
}

function written({ type, data }: Chunk): Buffer[] {
  const head = Buffer.alloc(8);
  head.write(type, 'latin1');
  head.writeUInt32LE(data.length, 4);
  return [head, data, Buffer.alloc(data.length % 2)];
}

function webpOf(chunks: readonly Chunk[]): Buffer {
  const body = Buffer.concat(chunks.flatMap(written));
  const head = Buffer.from('RIFF0000WEBP', 'latin1');
  head.writeUInt32LE(4 + body.length, 4);
  return Buffer.concat([head, body]);
}

function bareOf(chunks: readonly Chunk[]): Bare {
  return {
    file: webpOf(chunks),
    *shortened() {
      for (const [index, { type, data }] of chunks.entries()) {
        const inside = type === 'ANMF' ? (chunksIn(data.subarray(FRAME_BYTES)) ?? []) : [{ type, data }];
        for (const cut of inside) {
          if (cut.type !== 'ALPH' && !isPicture(cut.type)) continue;
          const cutInside = inside.map((one) =>
            one === cut ? { type: one.type, data: one.data.subarray(0, -CUT_BYTES) } : one,
          );
          const changed =
            type === 'ANMF'
              ? [
                  {
                    type,
                    data: Buffer.concat([data.subarray(0, FRAME_BYTES), ...cutInside.flatMap(written)]),
                  },
                ]
              : cutInside;
          yield webpOf([...chunks.slice(0, index), ...changed, ...chunks.slice(index + 1)]);
        }
      }
    },
  };
}
