/** Hash values of sequences. In a group of 16 images with 35 sequences each, 7 % of the bits are set. */
const ROWS = 8192;
const FIRST_WORDS = 4;

/** For each sequence of three characters (by its hash), which groups have a text that contains it. */
export interface GramFilter {
  add(group: number, text: string): void;
  /** The groups that may have a text which contains this one, the last first. */
  groups(text: string): Iterable<number>;
}

export function createGramFilter(): GramFilter {
  const rows: (Uint32Array | undefined)[] = new Array(ROWS);
  let words = 0;

  function rowWith(hash: number, word: number): Uint32Array {
    const row = rows[hash];
    if (row && word < row.length) return row;
    const larger = new Uint32Array(Math.max(FIRST_WORDS, 2 ** Math.ceil(Math.log2(word + 1))));
    if (row) larger.set(row);
    rows[hash] = larger;
    return larger;
  }

  return {
    add(group, text) {
      const word = group >>> 5;
      const bit = 1 << (group & 31);
      words = Math.max(words, word + 1);
      for (const hash of hashes(text)) {
        const row = rowWith(hash, word);
        row[word] = (row[word] ?? 0) | bit;
      }
    },

    *groups(text) {
      const needed = [...new Set(hashes(text))].map((hash) => rows[hash]);
      if (needed.includes(undefined)) return;
      for (let word = words - 1; word >= 0; word--) {
        let bits = -1;
        for (const row of needed) bits &= row?.[word] ?? 0;
        while (bits !== 0) {
          const top = 31 - Math.clz32(bits);
          bits ^= 1 << top;
          yield word * 32 + top;
        }
      }
    },
  };
}

/** Hashes of all sequences of three UTF-16 units; none for shorter texts, which every group may contain. */
function hashes(text: string): number[] {
  const found: number[] = [];
  for (let index = 0; index + 3 <= text.length; index++) {
    const mixed =
      Math.imul(text.charCodeAt(index), 0x9e3779b1) ^
      Math.imul(text.charCodeAt(index + 1), 0x85ebca6b) ^
      Math.imul(text.charCodeAt(index + 2), 0xc2b2ae35);
    found.push((mixed ^ (mixed >>> 15)) & (ROWS - 1));
  }
  return found;
}
