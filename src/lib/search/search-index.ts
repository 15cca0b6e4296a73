import { foldText } from '../fold-text.ts';
import { createOpenPart } from './open-part.ts';
import { findPage } from './page.ts';
import { compare, FIELD_END, type Placed, toPattern } from './part.ts';
import { createSealedPart, MAX_DOCUMENTS, type SealedPart } from './sealed-part.ts';

/** What is searched. */
export interface Searched extends Placed {
  /** Texts without control characters; the id is searched too. */
  fields: readonly string[];
}

/**
 * Finds documents by a part of one of their texts, in any letter case (`fold-text.ts`), and knows how many there are.
 * Documents come into an open part, which is sealed when it is full: then it is an index of its own. In all about 200
 * bytes a document.
 */
export interface SearchIndex {
  /** Adds a document; one that is there already is left as it is. */
  add(document: Searched): void;
  remove(id: string): void;
  /** A page of ids, newest first and ties by id, and the number of all matches. `text` is not empty. */
  search(text: string, offset: number, limit: number): { ids: string[]; total: number };
}

/** How much the open part takes. The second is in UTF-16 units and bounds the time to seal a part of long texts. */
export interface OpenSizes {
  documents: number;
  units: number;
}
const OPEN_SIZES: OpenSizes = { documents: MAX_DOCUMENTS, units: 2 ** 20 };

/** Numbers of matches that are remembered and kept up to date, a tenth of a microsecond each per change. */
const MAX_TOTALS = 200;

const CONTROL = /[\u0000-\u001f\u007f]/;
const ASCII = /^[ -~]*$/;
const MAX_TEXT_LENGTH = 1000;

export function createSearchIndex(sizes = OPEN_SIZES): SearchIndex {
  let open = createOpenPart();
  let openUnits = 0;
  const sealed: SealedPart[] = [];
  const totals = new Map<string, number>();

  function seal(): void {
    sealed.push(createSealedPart(open.entries()));
    open = createOpenPart();
    openUnits = 0;
  }

  /** Makes a part anew without what was removed, together with a neighbour where both fit. */
  function shrink(at: number): void {
    const size = (index: number) => sealed[index]?.size() ?? Number.POSITIVE_INFINITY;
    const first = size(at - 1) + size(at) <= sizes.documents ? at - 1 : at;
    const count = size(first) + size(first + 1) <= sizes.documents ? 2 : 1;
    const entries = sealed.slice(first, first + count).flatMap((part) => part.entries());
    entries.sort((a, b) => compare(b, a));
    sealed.splice(first, count, ...(entries.length > 0 ? [createSealedPart(entries)] : []));
  }

  function has(document: Placed): boolean {
    if (open.has(document)) return true;
    for (const part of sealed)
      if (compare(part.ends().newest, document) <= 0 && part.has(document)) return true;
    return false;
  }

  /** Keeps the remembered totals right. */
  function changed(text: string, delta: 1 | -1): void {
    for (const [query, total] of totals) if (text.includes(query)) totals.set(query, total + delta);
  }

  function remember(text: string, total: number): void {
    const [oldest] = totals.keys();
    if (oldest !== undefined && totals.size >= MAX_TOTALS) totals.delete(oldest);
    totals.set(text, total);
  }

  return {
    add({ id, createdAt, fields }) {
      const text = [...fields, id].map((field) => fold(field) + FIELD_END).join('');
      if (has({ id, createdAt })) return;
      open.add({ id, createdAt, text });
      openUnits += text.length;
      if (open.size() >= sizes.documents || openUnits >= sizes.units) seal();
      changed(text, 1);
    },

    remove(id) {
      let text = open.remove(id);
      for (let at = sealed.length - 1; at >= 0 && text === null; at--) {
        const part = sealed[at];
        text = part?.remove(id) ?? null;
        if (part && part.size() < part.removed()) shrink(at);
      }
      if (text !== null) changed(text, -1);
    },

    search(text, offset, limit) {
      const folded = fold(text);
      if (folded.length > MAX_TEXT_LENGTH || CONTROL.test(folded)) return { ids: [], total: 0 };
      const known = totals.get(folded);
      const page = findPage([open, ...sealed], toPattern(folded), { offset, limit, known });
      if (known === undefined) remember(folded, page.total);
      return page;
    },
  };
}

/** `foldText`, which is the same as this for most texts and takes much longer. */
function fold(text: string): string {
  return ASCII.test(text) ? text.toLowerCase() : foldText(text);
}
