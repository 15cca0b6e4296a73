import type { Route } from './methods.ts';

/** What belongs to no route: strangers choose such paths, so that they must not become names. */
const OTHER = 'other';

/** Answers the pattern of the route that a path belongs to: `/api/proxy/:id`. It runs for every request. */
export function createRouteNames(routes: readonly Route[]): (path: string) => string {
  const plain = new Set<string>();
  const patterns: { name: string; parts: string[] }[] = [];
  for (const name of new Set(routes.map(({ path }) => path))) {
    if (name.includes(':')) patterns.push({ name, parts: name.split('/') });
    else plain.add(name);
  }
  return (path) => {
    if (plain.has(path)) return path;
    const parts = path.split('/');
    const fits = (pattern: string[]) =>
      pattern.length === parts.length &&
      pattern.every((part, place) => part.startsWith(':') || part === parts[place]);
    return patterns.find(({ parts: pattern }) => fits(pattern))?.name ?? OTHER;
  };
}
