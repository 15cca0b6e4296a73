/** A route as Elysia lists it: `/api/proxy/:id`. */
export interface Route {
  method: string;
  path: string;
}

/**
 * Answers which methods a path has, for `Allow`. Elysia says 404 to a known path with another method, so this
 * is asked only then and need not be fast.
 */
export function createMethodTable(routes: readonly Route[]): (path: string) => string[] {
  const patterns = routes.map(({ method, path }) => ({
    method,
    pattern: new RegExp(`^${path.replace(/[.+?^${}()|[\]\\]/g, '\\$&').replace(/:\w+/g, '[^/]+')}/?$`),
  }));
  return (path) => {
    const methods = new Set(patterns.filter(({ pattern }) => pattern.test(path)).map(({ method }) => method));
    if (methods.has('GET')) methods.add('HEAD');
    return [...methods].sort();
  };
}
