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
  'review',
] as const;
/** Those that none is without. */
const ALWAYS = ['kept', 'gone', 'told'] as const;

/** How often each promise was really examined: a world in which nobody looks finds nothing. */
export type Examined = Record<(typeof KINDS)[number], number>;

export const nothing = () => Object.fromEntries(KINDS.map((kind) => [kind, 0])) as Examined;

/** Says what a world has not examined at all. */
export const unexamined = (examined: Examined): string[] =>
  ALWAYS.filter((kind) => examined[kind] === 0).map((kind) => `no promise of what is ${kind} was examined`);
