import type { Clock } from '../../lib/clock.ts';
import type { Log } from '../../lib/logger.ts';
import type { ImageStore } from '../store.ts';
import { type AlbumRecord, picturesOf } from './album.ts';
import type { AlbumStore } from './store.ts';

export interface SweepOptions {
  albums: AlbumStore;
  images: Pick<ImageStore, 'existing'>;
  retentionMs: number;
  clock: Pick<Clock, 'now'>;
  log: Log;
}

const SWEPT_AT_ONCE = 20;

/** Creates a function that removes albums without pictures and returns how many; see `Albums.sweep`. */
export function createSweep({
  albums,
  images,
  retentionMs,
  clock,
  log,
}: SweepOptions): (signal: AbortSignal) => Promise<number> {
  async function sweepOne(album: AlbumRecord): Promise<boolean> {
    const alive = (await images.existing(picturesOf(album))).size > 0;
    if (!alive && album.empty === 1) return albums.remove(album.id, album.revision);
    const dueAt = clock.now() + retentionMs;
    await albums.replace({ ...album, empty: alive ? 0 : 1, dueAt, revision: album.revision + 1 });
    return false;
  }

  return async (signal) => {
    let removed = 0;
    while (!signal.aborted) {
      const due = await albums.dueBy(clock.now(), SWEPT_AT_ONCE);
      for (const album of due) {
        if (signal.aborted) return removed;
        if (await sweepOne(album)) removed++;
      }
      if (due.length < SWEPT_AT_ONCE) break;
    }
    if (removed > 0) log('info', 'albums without pictures removed', { removed });
    return removed;
  };
}
