import type { Route } from './methods.ts';

/** What belongs to no route: strangers choose such paths, so that they must not become names. */
const OTHER = 'other';
const MAX_KNOWN = 5000;
const MAX_KNOWN_LENGTH = 100;

/** Answers the pattern of the route that a path belongs to: `/api/proxy/:id`. It runs for every request. */
export function createRouteNames(routes: readonly Route[]): (path: string) => string {
  const plain = new Set<string>();
  const patterns: { name: string; parts: string[] }[] = [];
  for (const name of new Set(routes.map(({ path }) => path))) {
    if (name.includes(':')) patterns.push({ name, parts: name.split('/') });
    else plain.add(name);
  }
  /** Of paths that were asked for lately: taking one apart costs more than an answer from memory. */
  const known = new Map<string, string>();

  function find(path: string): string {
    const parts = path.split('/');
    const fits = (pattern: string[]) =>
      pattern.length === parts.length &&
      pattern.every((part, place) => part.startsWith(':') || part === parts[place]);
    return patterns.find(({ parts: pattern }) => fits(pattern))?.name ?? OTHER;
  }

  return (path) => {
    if (plain.has(path)) return path;
    if (path.length > MAX_KNOWN_LENGTH) return find(path);
    let name = known.get(path);
    if (name === undefined) {
      name = find(path);
      if (known.size >= MAX_KNOWN) known.clear();
      known.set(path, name);
    }
    return name;
  };
}
