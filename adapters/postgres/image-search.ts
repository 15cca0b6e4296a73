import type { ImageRecord } from '../../src/image/image.ts';
import { needlesOf } from '../../src/image/records/searched.ts';
import { MOST_COUNTED, type Page, type PageQuery, type Place, pageOf } from '../../src/image/store.ts';
import { arrayOf, type PostgresConnection, type Value } from './connection.ts';
import { askedGrams } from './image-grams.ts';
import { behind, publicTotal, RECORD } from './image-rows.ts';

/** Number of rows of the list that a search reads before it uses the index, which takes a millisecond. */
const WINDOW = 1000;
/** It reads this many more windows if it has found enough matches to fill its page on the way. */
const FURTHER = 40;
/** Time limit for counting matches, in ms. */
const COUNT_MS = 50;
/** Beyond these numbers of rows, or of matches named by the index, counting is not attempted. */
const COUNTABLE = { rows: 60_000, named: 300_000 };

/** Some matches of a search in the order of the list. */
interface Found {
  /** Number of rows read; for the index, only the matches. */
  seen: number;
  /** Number of these that matched. */
  matched: number;
  records: ImageRecord[];
}

/** What a walk or an index query should return. */
interface Wanted {
  after?: Place | undefined;
  offset: number;
  most: number;
}

/**
 * Searches the public images. Frequent texts are found among the newest images, rare ones with the index, which then
 * has few matches. So no search reads everything, and none depends on the guesses of a planner.
 */
export function createImageSearch(
  { table, ask, askWithin }: PostgresConnection,
  { window = WINDOW, countMs = COUNT_MS }: { window?: number; countMs?: number } = {},
): (query: PageQuery) => Promise<Page<ImageRecord>> {
  const [texts, images, counts] = [table('image_text'), table('images'), table('image_counts')];
  const page = (from: string, most: string, offset: string) => `found AS (
      SELECT created_at, id FROM ${from} ORDER BY created_at DESC, id LIMIT ${most} OFFSET ${offset}
    )
    SELECT s.seen, s.matched, ${RECORD} FROM sums s LEFT JOIN found f ON true LEFT JOIN ${images} i ON i.id = f.id
    ORDER BY f.created_at DESC, f.id`;

  function answer(rows: readonly (ImageRecord & Omit<Found, 'records'>)[]): Found {
    const { seen = 0, matched = 0 } = rows[0] ?? {};
    const records = rows.flatMap(({ seen: _, matched: __, ...record }) => (record.id === null ? [] : record));
    return { seen, matched, records };
  }

  /** Reads the next rows of the list. */
  async function walk(
    needles: readonly string[],
    rows: number,
    { after, offset, most }: Wanted,
  ): Promise<Found> {
    const text = `WITH w AS MATERIALIZED (
        SELECT created_at, id, text FROM ${texts} ${after ? `WHERE ${behind(4)}` : ''}
        ORDER BY created_at DESC, id LIMIT $1
      ), m AS MATERIALIZED (SELECT created_at, id FROM w WHERE ${containsAll(needles, after ? 6 : 4)}),
      sums AS (SELECT (SELECT count(*) FROM w) AS seen, (SELECT count(*) FROM m) AS matched),
      ${page('m', '$2', '$3')}`;
    const place = after ? [after.createdAt, after.id] : [];
    const values: Value[] = [rows, most, offset, ...place, ...needles];
    return answer(await ask('safe', text, values));
  }

  /** Gets all matches from the index. */
  async function sift(
    needles: readonly string[],
    grams: readonly number[],
    { after, offset, most }: Wanted,
  ): Promise<Found> {
    const text = `WITH m AS MATERIALIZED (
        SELECT created_at, id FROM ${texts} WHERE grams @> $1::integer[] AND ${containsAll(needles, after ? 6 : 4)}
      ), sums AS (SELECT count(*) AS seen, count(*) AS matched FROM m),
      ${page(after ? `m WHERE ${behind(4)}` : 'm', '$2', '$3')}`;
    const place = after ? [after.createdAt, after.id] : [];
    return answer(await ask('safe', text, [arrayOf(grams), most, offset, ...place, ...needles]));
  }

  /**
   * Returns the number of matches, up to one more than are counted; `null` if that takes or would take too long.
   * `share`: the estimated share of matching images. Matches of frequent needles are found soon without the index,
   * which would return all of them.
   */
  async function count(
    needles: readonly string[],
    grams: readonly number[],
    share: number,
  ): Promise<number | null> {
    const all = await publicCount();
    const byIndex = grams.length > 0 && share * all <= COUNTABLE.named;
    if (!byIndex && Math.min(all, MOST_COUNTED / share) > COUNTABLE.rows) return null;
    const rows = await askWithin<{ count: number }>(
      countMs,
      `SELECT count(*) AS count FROM (
         SELECT FROM ${texts} WHERE ${containsAll(needles, 1)} ${byIndex ? `AND grams @> $${needles.length + 1}::integer[]` : ''}
         LIMIT ${MOST_COUNTED + 1}
       ) m`,
      [...needles, ...(byIndex ? [arrayOf(grams)] : [])],
    );
    return rows?.[0]?.count ?? null;
  }

  async function publicCount(): Promise<number> {
    const [row] = await ask<{ total: number }>('safe', publicTotal(counts));
    return row?.total ?? 0;
  }

  async function find(
    needles: readonly string[],
    { after, offset, limit }: PageQuery,
  ): Promise<Page<ImageRecord>> {
    const grams = askedGrams(needles);
    const wanted = { after, offset, most: limit + 1 };
    const first = await walk(needles, window, wanted);
    const top = after ? await walk(needles, window, { offset: 0, most: 0 }) : first;

    const isWhole = ({ seen }: Found) => seen < window;
    const need = offset + limit + 1;
    let found = first;
    /** All matches, if the index has returned them. */
    let named: number | null = null;
    if (first.matched < need && !isWhole(first)) {
      const rows = Math.ceil((1.5 * need * first.seen) / Math.max(first.matched, 1));
      const isNear = first.matched > 0 && rows <= window * FURTHER;
      if (isNear || grams.length === 0)
        found = await walk(needles, isNear ? rows : Number.MAX_SAFE_INTEGER, wanted);
      if (found.matched < need && grams.length > 0) {
        found = await sift(needles, grams, wanted);
        named = found.matched;
      }
    }
    return { ...pageOf(found.records, limit), ...(await total()) };

    async function total(): Promise<Pick<Page<ImageRecord>, 'total' | 'exact'>> {
      if (isWhole(top)) return bounded(top.matched);
      if (named !== null) return bounded(named);
      const counted = await count(needles, grams, top.matched / top.seen);
      if (counted !== null) return bounded(counted);
      return {
        total: Math.min(MOST_COUNTED, Math.max(top.matched, offset + found.records.length)),
        exact: false,
      };
    }
  }

  return async (query) => {
    const needles = needlesOf(query.text ?? '');
    return needles.length === 0 ? { items: [], total: 0, exact: true, next: null } : find(needles, query);
  };
}

/** Returns SQL that is true if `text` contains all words, whose values begin at `$first`. */
function containsAll(needles: readonly string[], first: number): string {
  return needles.map((_, place) => `strpos(text, $${first + place}) > 0`).join(' AND ');
}

function bounded(matched: number): Pick<Page<ImageRecord>, 'total' | 'exact'> {
  return { total: Math.min(matched, MOST_COUNTED), exact: matched <= MOST_COUNTED };
}
