import type { Place } from '../../src/image/store.ts';
import type { Database } from './database.ts';

/** Gap between neighbours, for images out of order: two in one millisecond, or after a clock went back. */
const GAP = 16;

/** Gap after a pause, because the clock may have been set ahead: once it is back, this many positions are left for what comes then. */
const WIDE = 2 ** 24;
const PAUSE_MS = 3_600_000;

/** The first position, far from 0 so that older images fit below. */
const ORIGIN = 2 ** 40;

interface Row {
  pos: number;
}

/**
 * Creates a function that returns a free position for an image, such that positions descend in the order of the list.
 * If there is no gap between two neighbours, the newer ones move up as far as the next gap; `move` must move each of
 * them. Call it in a transaction.
 */
export function createPlacer(
  database: Database,
  move: (from: number, to: number) => void,
): (image: Place) => number {
  const newest = database.prepare<Row & Place>(
    'SELECT pos, id, created_at AS createdAt FROM images ORDER BY pos DESC LIMIT 1',
  );
  const aboveInTie = database.prepare<Row>(
    'SELECT pos FROM images WHERE created_at = ? AND id < ? ORDER BY id DESC LIMIT 1',
  );
  const aboveInTime = database.prepare<Row>(
    'SELECT pos FROM images WHERE created_at > ? ORDER BY created_at, id DESC LIMIT 1',
  );
  const next = database.prepare<Row>('SELECT pos FROM images WHERE pos > ? ORDER BY pos LIMIT 1');
  const previous = database.prepare<Row>('SELECT pos FROM images WHERE pos < ? ORDER BY pos DESC LIMIT 1');

  /**
   * Moves the fewest neighbours from `first` up that have room before the next one, and leaves most of it below them. Each must have two
   * positions, and a quarter more with each doubling of their number, so that long runs are moved rarely, but always less than `GAP`:
   * otherwise one upload would move the whole list. Of 20,000 that come late at one place among 200,000, each moves 6 on average.
   */
  function makeRoom(first: number): number {
    const run: number[] = [];
    let end = first;
    do {
      run.push(end);
      end = next.get(end)?.pos ?? end + WIDE;
    } while (end - first < run.length * (2 + Math.log2(run.length) / 4));
    const free = end - first - run.length;
    const shift = Math.ceil(free * 0.75);
    const spread = (free - shift) / run.length;
    for (const [place, pos] of [...run.entries()].reverse()) {
      const to = first + shift + place + Math.floor(place * spread);
      if (to !== pos) move(pos, to);
    }
    return first + shift;
  }

  return (image) => {
    const top = newest.get();
    if (!top) return ORIGIN;
    if (image.createdAt > top.createdAt || (image.createdAt === top.createdAt && image.id < top.id)) {
      return top.pos + (image.createdAt - top.createdAt > PAUSE_MS ? WIDE : GAP);
    }
    const above = aboveInTie.get(image.createdAt, image.id) ?? aboveInTime.get(image.createdAt) ?? top;
    const below = previous.get(above.pos)?.pos ?? above.pos - 2 * GAP;
    const ceiling = above.pos - below > 1 ? above.pos : makeRoom(above.pos);
    return below + Math.min(GAP, Math.floor((ceiling - below) / 2));
  };
}

/** Creates a function that returns a position: the images below it come later in the list than the given place. */
export function createLocator(database: Database): (place: Place) => number {
  const nextInTie = database.prepare<Row>(
    'SELECT pos FROM images WHERE created_at = ? AND id > ? ORDER BY id LIMIT 1',
  );
  const nextInTime = database.prepare<Row>(
    'SELECT pos FROM images WHERE created_at < ? ORDER BY created_at DESC, id LIMIT 1',
  );
  return ({ createdAt, id }) => {
    const first = nextInTie.get(createdAt, id) ?? nextInTime.get(createdAt);
    return first ? first.pos + 1 : 0;
  };
}
