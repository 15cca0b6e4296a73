import { AppError } from '../../src/errors.ts';
import type { ImageRecord } from '../../src/image/image.ts';
import { slices } from '../../src/lib/batches.ts';
import type { Arg, Script } from './connection.ts';
import { decodeImage } from './image-codec.ts';
import { READ } from './image-scripts.ts';
import type { Unreadable } from './unreadable.ts';

/** Runs a script with the keys of the images. */
export type Read = (script: Script, ...args: Arg[]) => Promise<unknown>;

/** ID, record, last access and views, as the scripts return them. */
type Row = [id: string, text: string, access: string, views: string];

export function createImageReader(read: Read, unreadable: Pick<Unreadable, 'read'>) {
  /** Returns the record, or `null` if it cannot be read. */
  const toRecord = ([id, text, access, views]: Row) =>
    unreadable.read(id, () => decodeImage(id, text, Number(access), Number.parseInt(views, 10)));

  const toRecords = (answer: unknown) => rowsOf(answer).flatMap((row) => toRecord(row) ?? []);

  /** Returns the record, both stored and parsed. Rejects with `unavailable` if it cannot be read. */
  async function find(id: string): Promise<{ text: string; image: ImageRecord } | null> {
    const [found] = rowsOf(await read(READ, id));
    if (!found) return null;
    const image = toRecord(found);
    if (image) return { text: found[1], image };
    throw new AppError('unavailable', 'The record of this image cannot be read.');
  }

  /** Returns up to `most` readable records of a list that `fetch` returns in slices. */
  async function readable(
    most: number,
    fetch: (offset: number, most: number) => Promise<unknown>,
  ): Promise<ImageRecord[]> {
    const records: ImageRecord[] = [];
    for (let offset = 0; records.length < most; ) {
      const batch = rowsOf(await fetch(offset, most - records.length));
      const read = batch.flatMap((row) => toRecord(row) ?? []);
      records.push(...read);
      if (read.length === batch.length) break;
      offset += batch.length;
    }
    return records;
  }

  return { toRecord, toRecords, find, readable };
}

/** Reads records from the answers of scripts. Unreadable ones are recorded and skipped. */
export type ImageReader = ReturnType<typeof createImageReader>;

export const rowsOf = (answer: unknown) => [...slices(answer as string[], 4)] as Row[];
