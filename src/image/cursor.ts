import type { AccessPlace, Place } from './store.ts';

/** The form of a cursor: the time of the image in digits and letters, and its id. */
export const CURSOR_PATTERN = '^([0-9a-z]{1,10}-[0-9A-Za-z]{1,64})?$';

/** A place in the list as a text for URLs. Callers give it back as it is. */
export function formatCursor({ createdAt, id }: Place): string {
  return `${createdAt.toString(36)}-${id}`;
}

/** The place that a text of that form means. */
export function parseCursor(text: string): Place {
  const dash = text.indexOf('-');
  return { createdAt: Number.parseInt(text.slice(0, dash), 36), id: text.slice(dash + 1) };
}

/** The same of a place among those that were accessed. */
export function formatAccessCursor({ lastAccess, id }: AccessPlace): string {
  return formatCursor({ createdAt: lastAccess, id });
}

export function parseAccessCursor(text: string): AccessPlace {
  const { createdAt, id } = parseCursor(text);
  return { lastAccess: createdAt, id };
}
