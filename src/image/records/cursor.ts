import type { AccessPlace, Place } from '../store.ts';

/** The form of a cursor: the image's time in base 36, and its ID. */
export const CURSOR_PATTERN = '^([0-9a-z]{1,10}-[0-9A-Za-z]{1,64})?$';

/** Returns a position in the list as text for URLs, which callers give back unchanged. */
export function formatCursor({ createdAt, id }: Place): string {
  return `${createdAt.toString(36)}-${id}`;
}

/** Returns the position that such a text stands for. */
export function parseCursor(text: string): Place {
  const dash = text.indexOf('-');
  return { createdAt: Number.parseInt(text.slice(0, dash), 36), id: text.slice(dash + 1) };
}

/** Returns a position in the list sorted by last access. */
export function formatAccessCursor({ lastAccess, id }: AccessPlace): string {
  return formatCursor({ createdAt: lastAccess, id });
}

export function parseAccessCursor(text: string): AccessPlace {
  const { createdAt, id } = parseCursor(text);
  return { lastAccess: createdAt, id };
}
