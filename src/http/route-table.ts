import { remember } from '../lib/bounded-map.ts';
import type { RateName } from '../lib/rates.ts';
import type { Route } from './route.ts';
import { pathOf } from './target.ts';

/** What is declared with a route for the requests that it gets. */
type Rules = Pick<Route, 'bytes' | 'cached' | 'admin' | 'tokens' | 'ownToken' | 'evenBlocked' | 'dialect'>;

/** What the request path knows about a request once it is matched. */
export interface Matched extends Rules {
  /** The path's pattern; `other` if there is none, because clients choose such paths. */
  readonly name: string;
  /** The method; `other` if no route has it. */
  readonly method: string;
  /** False if the path is unknown or only has other methods. */
  readonly found: boolean;
  /** Methods of the path, as listed in `Allow`; empty for an unknown path. */
  readonly allow: string;
  /** True for a method that changes nothing. */
  readonly reading: boolean;
  readonly limit: RateName;
  readonly queued: boolean;
}

/** A path, with what was made for its routes: there is one for every method. */
const placeAt = <T>(path: string, methods: Methods<T>) => ({
  path,
  of: (method: string) => (methods.get(method) ?? methods.get('other')) as T,
});

/** Places are remembered by URL, because matching a path costs more than looking it up. */
const MAX_PLACES = 2000;
const MAX_URL_LENGTH = 200;

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'other'] as const;
/** Methods that change nothing. */
const READING = new Set<string>(['GET', 'HEAD', 'OPTIONS']);

type Methods<T> = ReadonlyMap<string, T>;

/** A segment of the patterns, and what can follow it. */
interface Segment<T> {
  named: Map<string, Segment<T>>;
  any: Segment<T> | null;
  methods: Methods<T> | null;
}

/**
 * Compiles the rules of all routes, and for each what `make` returns. A trailing slash is ignored, as in
 * Elysia.
 */
export function createRouteTable<T>(declared: readonly Route[], make: (route: Matched) => T) {
  const root = newSegment<T>();
  const plain = new Map<string, Methods<T>>();
  const methodsOf = (name: string, routes: ReadonlyMap<string, Route>): Methods<T> =>
    new Map(matchesOf(name, routes).map((route) => [route.method, make(route)]));
  const unknown = methodsOf('other', new Map());

  for (const [path, group] of Map.groupBy(declared, (route) => trimmed(route.path))) {
    const methods = methodsOf(path, new Map(group.map((route) => [route.method, route])));
    if (path.includes('*')) throw new Error(`the table knows no wildcards: ${path}`);
    if (!path.includes(':')) plain.set(path, methods);
    if (path === '/') continue;
    let segment = root;
    for (const name of path.slice(1).split('/')) segment = childOf(segment, name);
    segment.methods = methods;
  }

  function place(url: string) {
    const path = pathOf(url);
    return placeAt(path, plain.get(path) ?? find(root, path, 1) ?? unknown);
  }

  return {
    /** Finds the place of an absolute URL. */
    at: remember(MAX_PLACES, place, MAX_URL_LENGTH),
    /** For requests without a valid host: a place without routes. */
    nowhere: placeAt('', unknown),
  };
}

/**
 * Finds the methods of the pattern that matches the rest of the path from `start` on. A literal segment goes before a
 * variable one.
 */
function find<T>(segment: Segment<T>, path: string, start: number): Methods<T> | null {
  if (start >= path.length) return segment.methods;
  const slash = path.indexOf('/', start);
  const end = slash === -1 ? path.length : slash;
  const named = segment.named.get(path.slice(start, end));
  const found = named ? find(named, path, end + 1) : null;
  if (found !== null || segment.any === null || end === start) return found;
  return find(segment.any, path, end + 1);
}

function matchesOf(name: string, routes: ReadonlyMap<string, Route>): Matched[] {
  const methods = new Set<string>(routes.keys());
  if (methods.has('GET')) methods.add('HEAD');
  const allow = [...methods].sort().join(', ');
  return METHODS.map((method): Matched => {
    const route = routes.get(method === 'HEAD' ? 'GET' : method);
    const reading = READING.has(method);
    return {
      ...(route as Rules | undefined),
      name,
      method,
      found: route !== undefined,
      allow,
      reading,
      limit: route?.limit ?? (reading ? 'read' : 'write'),
      // Requests with a body begin at once: while they waited, the body would accumulate in memory.
      queued: route?.queued !== false && reading,
    };
  });
}

function newSegment<T>(): Segment<T> {
  return { named: new Map(), any: null, methods: null };
}

function childOf<T>(segment: Segment<T>, name: string): Segment<T> {
  if (name.startsWith(':')) {
    segment.any ??= newSegment<T>();
    return segment.any;
  }
  const child = segment.named.get(name) ?? newSegment<T>();
  segment.named.set(name, child);
  return child;
}

function trimmed(path: string): string {
  return path.length > 1 && path.endsWith('/') ? path.slice(0, -1) : path;
}
