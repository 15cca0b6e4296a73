import sharp from 'sharp';
import { photo, quarters } from './images.ts';

/** A JPEG with a gain map, as phones of today write it. */
export async function gainMapJpeg(): Promise<Buffer> {
  const pipeline = sharp(await photo(320, 240)) as ReturnType<typeof sharp> & {
    withGainMap(): typeof pipeline;
  };
  return pipeline.withGainMap().jpeg({ quality: 80 }).toBuffer();
}

/** Two JPEG pictures in one file, as stereo cameras write them (CIPA DC-007): the quarters, and the same in grey. */
export async function multiPicture(): Promise<Buffer> {
  const first = await quarters().jpeg({ quality: 95 }).toBuffer();
  const second = await quarters().greyscale().jpeg().toBuffer();
  const index = Buffer.alloc(8 + 2 + 12 + 4 + 32);
  index.write('MM\0*', 0, 'latin1');
  index.writeUInt32BE(8, 4);
  index.writeUInt16BE(1, 8);
  index.writeUInt16BE(0xb002, 10);
  index.writeUInt16BE(7, 12);
  index.writeUInt32BE(32, 14);
  index.writeUInt32BE(26, 18);
  const length = first.length + 4 + 4 + index.length;
  index.writeUInt32BE(0x030000, 26);
  index.writeUInt32BE(length, 30);
  index.writeUInt32BE(0x020002, 42);
  index.writeUInt32BE(second.length, 46);
  // From the beginning of the index: after the start of the picture, marker, length and name.
  index.writeUInt32BE(length - 10, 50);
  return Buffer.concat([withSegment(first, 0xe2, Buffer.concat([Buffer.from('MPF\0'), index])), second]);
}

/** The quarters with a video behind them, as phones write motion photos. */
export async function motionPhoto(): Promise<Buffer> {
  const xmp = `http://ns.adobe.com/xap/1.0/\0<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF
    xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"><rdf:Description GCamera:MotionPhoto="1"
    xmlns:GCamera="http://ns.google.com/photos/1.0/camera/"/></rdf:RDF></x:xmpmeta>`;
  const video = Buffer.from('\0\0\0\x18ftypmp42\0\0\0\0mp42isom\0\0\0\x08mdat', 'latin1');
  return Buffer.concat([
    withSegment(await quarters().jpeg({ quality: 95 }).toBuffer(), 0xe1, Buffer.from(xmp, 'latin1')),
    video,
  ]);
}

export function withSegment(jpeg: Buffer, marker: number, data: Buffer): Buffer {
  const head = Buffer.from([0xff, marker, 0, 0]);
  head.writeUInt16BE(data.length + 2, 2);
  return Buffer.concat([jpeg.subarray(0, 2), head, data, jpeg.subarray(2)]);
}

/** The same JPEG with a caption in IPTC, as Photoshop writes it (IPTC-NAA record 2:120 in resource 0x0404). */
export function withCaption(jpeg: Buffer, caption: string): Buffer {
  const record = Buffer.concat([
    Buffer.from([0x1c, 2, 120, 0, caption.length]),
    Buffer.from(caption, 'latin1'),
  ]);
  const head = Buffer.from('Photoshop 3.0\x008BIM\x04\x04\0\0\0\0\0\0', 'latin1');
  head.writeUInt32BE(record.length, head.length - 4);
  const data = Buffer.concat([head, record, Buffer.alloc(record.length % 2)]);
  return withSegment(jpeg, 0xed, data);
}
