/** The promises of the image host that worlds examine, most of them a hundred times each. */
const KINDS = [
  'kept',
  'gone',
  'limited',
  'closed',
  'told',
  'received',
  'counted',
  'album',
  'guest',
  'review',
  'block',
  'token',
  'dated',
] as const;
/** Those that none is without. */
const ALWAYS = ['kept', 'gone', 'told'] as const;

/** How often each promise was really examined: a world in which nobody looks finds nothing. */
export type Examined = Record<(typeof KINDS)[number], number>;

export const nothing = () => Object.fromEntries(KINDS.map((kind) => [kind, 0])) as Examined;

/** A world with fewer pictures may be without one kind. */
const FEW = 40;

/** Says what a world of so many pictures has not examined at all. */
export function unexamined(examined: Examined, pictures: number): string[] {
  const missing = pictures < FEW ? [] : ALWAYS.filter((kind) => examined[kind] === 0);
  return missing.map((kind) => `no promise of what is ${kind} was examined`);
}
