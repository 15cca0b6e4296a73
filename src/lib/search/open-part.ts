import { type Entry, type Part, placeOf } from './part.ts';

/** A part that documents are added to. Each search reads all of them, 0.04 us each. */
export interface OpenPart extends Part {
  add(entry: Entry): void;
  size(): number;
}

export function createOpenPart(): OpenPart {
  /** The last of the order first, so that new ones go to the end. */
  const entries: Entry[] = [];
  const place = (entry: { id: string; createdAt: number }) =>
    placeOf(entry, entries.length, (at) => entries[at] ?? entry);

  return {
    add: (entry) => {
      entries.splice(place(entry), 0, entry);
    },
    size: () => entries.length,
    ends() {
      const [oldest, newest] = [entries[0], entries.at(-1)];
      return oldest && newest ? { newest, oldest } : null;
    },
    has: (document) => entries[place(document)]?.id === document.id,
    count: ({ text }) => entries.reduce((count, entry) => count + (entry.text.includes(text) ? 1 : 0), 0),
    find({ text }, most) {
      const matches = entries.filter((entry) => entry.text.includes(text)).reverse();
      return { first: matches.slice(0, most), total: matches.length };
    },
    remove(id) {
      const at = entries.findIndex((entry) => entry.id === id);
      return entries.splice(at, at < 0 ? 0 : 1)[0]?.text ?? null;
    },
    entries: () => [...entries],
  };
}
