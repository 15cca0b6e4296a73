import { createGramFilter } from './gram-filter.ts';
import { createGroupedTexts } from './grouped-texts.ts';

/** What the index knows about an image. */
export interface IndexedImage {
  id: string;
  createdAt: number;
  /** Folded texts that are searched; none has control characters. */
  fields: readonly string[];
}

/**
 * Finds the images that have a field which contains a text. Images stand in the order of their creation, in groups;
 * for each group a filter says which three-character sequences occur in it, so that a search reads only the groups
 * that may match, newest first. About 350 bytes an image.
 */
export interface ImageIndex {
  /** Adds an image; one that is there already is left as it is. */
  add(image: IndexedImage): void;
  remove(id: string): void;
  /** A page of ids, newest first and ties by id, and the number of all matches. `text` is folded and not empty. */
  search(text: string, offset: number, limit: number): { ids: string[]; total: number };
}

/** How far an image that comes out of order is moved to its place; beyond that the next search sorts everything. */
const MAX_MOVES = 100;
/** Numbers of matches that are remembered and kept up to date, a tenth of a microsecond each per change. */
const MAX_TOTALS = 200;

export function createImageIndex(): ImageIndex {
  /** By place, oldest first. A removed image leaves an empty text, which nothing matches. */
  let ids: string[] = [];
  let times: number[] = [];
  let texts = createGroupedTexts();
  let filter = createGramFilter();
  let places = new Map<string, number>();
  let sorted = true;
  const totals = new Map<string, number>();

  function put(place: number, id: string, time: number, text: string): void {
    ids[place] = id;
    times[place] = time;
    texts.set(place, text);
    if (text === '') return;
    places.set(id, place);
    filter.add(texts.groupOf(place), text);
  }

  /** True where the image belongs before the one at the place: older, or as old with a larger id. */
  function precedes(id: string, time: number, place: number): boolean {
    const other = times[place] ?? 0;
    return time < other || (time === other && id > (ids[place] ?? ''));
  }

  function insert(id: string, time: number, text: string): void {
    let place = ids.length;
    while (place > 0 && ids.length - place <= MAX_MOVES && precedes(id, time, place - 1)) place--;
    if (ids.length - place > MAX_MOVES) {
      sorted = false;
      place = ids.length;
    }
    for (let from = ids.length - 1; from >= place; from--) {
      put(from + 1, ids[from] ?? '', times[from] ?? 0, texts.get(from));
    }
    put(place, id, time, text);
  }

  /** Sorts everything and drops the places of removed images. */
  function rebuild(): void {
    const [oldIds, oldTimes, oldTexts] = [ids, times, texts];
    const order = [...places.values()];
    const time = (place: number) => oldTimes[place] ?? 0;
    const id = (place: number) => oldIds[place] ?? '';
    order.sort((a, b) => time(a) - time(b) || (id(a) < id(b) ? 1 : -1));
    [ids, times, places, sorted] = [[], [], new Map(), true];
    [texts, filter] = [createGroupedTexts(), createGramFilter()];
    for (const [place, old] of order.entries()) put(place, id(old), time(old), oldTexts.get(old));
  }

  function count(delta: 1 | -1, text: string): void {
    for (const [query, total] of totals) {
      if (text.includes(query)) totals.set(query, total + delta);
    }
  }

  function remember(query: string, total: number): void {
    const [oldest] = totals.keys();
    if (oldest !== undefined && totals.size >= MAX_TOTALS) totals.delete(oldest);
    totals.set(query, total);
  }

  return {
    add({ id, createdAt, fields }) {
      if (places.has(id)) return;
      const text = fields.join('\n');
      insert(id, createdAt, text);
      count(1, text);
    },

    remove(id) {
      const place = places.get(id);
      if (place === undefined) return;
      count(-1, texts.get(place));
      texts.set(place, '');
      places.delete(id);
      if (ids.length > 1000 && ids.length > 2 * places.size) rebuild();
    },

    search(text, offset, limit) {
      if (!sorted) rebuild();
      const known = totals.get(text);
      const wanted = offset + limit;
      const page: string[] = [];
      let matches = 0;
      for (const group of filter.groups(text)) {
        for (const place of texts.matches(group, text).reverse()) {
          if (matches >= offset && matches < wanted) page.push(ids[place] ?? '');
          matches++;
        }
        if (known !== undefined && matches >= Math.min(wanted, known)) return { ids: page, total: known };
      }
      if (known === undefined) remember(text, matches);
      return { ids: page, total: matches };
    },
  };
}
