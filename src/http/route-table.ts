import type { RateName } from '../lib/rates.ts';
import type { Dialect } from './dialect.ts';
import type { AnswerCache, Policy } from './policy.ts';

/** A route as Elysia lists it. */
export interface DeclaredRoute {
  method: string;
  /** Such as `/api/proxy/:id`. */
  path: string;
  /** The key of the declared `policy`. */
  hooks?: unknown;
}

/** What the request path knows about a request once it is matched. */
export interface Route {
  /** The path's pattern; `other` if there is none, because clients choose such paths. */
  readonly name: string;
  /** The method; `other` if no route has it. */
  readonly method: string;
  /** False if the path is unknown or only has other methods. */
  readonly found: boolean;
  /** Methods of the path, as listed in `Allow`; empty for an unknown path. */
  readonly allow: string;
  readonly limit: RateName;
  readonly bytes: RateName | null;
  readonly cached: AnswerCache | null;
  readonly admin: 'always' | 'once set' | null;
  readonly queued: boolean;
  readonly dialect: ((request: Request) => Dialect | null) | null;
}

export interface RouteTable {
  /** Finds the route of a request. There is one for every request. */
  match(method: string, path: string): Route;
}

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'other'] as const;
/** Methods that change nothing. */
const READING = new Set<string>(['GET', 'HEAD', 'OPTIONS']);

type RoutesOfPath = ReadonlyMap<string, Route>;

/** A segment of the patterns, and what can follow it. */
interface Segment {
  named: Map<string, Segment>;
  any: Segment | null;
  routes: RoutesOfPath | null;
}

/** Compiles the declarations of all routes. A trailing slash is ignored, as in Elysia. */
export function createRouteTable(declared: readonly DeclaredRoute[]): RouteTable {
  const root = newSegment();
  const plain = new Map<string, RoutesOfPath>();
  const unknown = routesOf('other', new Map());

  for (const [path, group] of Map.groupBy(declared, (route) => trimmed(route.path))) {
    const policies = new Map(group.map(({ method, hooks }) => [method, policyOf(hooks)]));
    const routes = routesOf(path, policies);
    if (path.includes('*')) throw new Error(`the table knows no wildcards: ${path}`);
    if (!path.includes(':')) plain.set(path, routes);
    if (path === '/') continue;
    let segment = root;
    for (const name of path.slice(1).split('/')) segment = childOf(segment, name);
    segment.routes = routes;
  }

  return {
    match(method, path) {
      const known = plain.get(path) ?? find(root, path, 1) ?? unknown;
      return known.get(method) ?? known.get('other') ?? fail(path);
    },
  };
}

/**
 * Finds the routes whose pattern matches the rest of the path from `start` on. A literal segment goes before a
 * variable one.
 */
function find(segment: Segment, path: string, start: number): RoutesOfPath | null {
  if (start >= path.length) return segment.routes;
  const slash = path.indexOf('/', start);
  const end = slash === -1 ? path.length : slash;
  const named = segment.named.get(path.slice(start, end));
  const found = named ? find(named, path, end + 1) : null;
  if (found !== null || segment.any === null || end === start) return found;
  return find(segment.any, path, end + 1);
}

function routesOf(name: string, policies: ReadonlyMap<string, Policy>): RoutesOfPath {
  const methods = new Set(policies.keys());
  if (methods.has('GET')) methods.add('HEAD');
  const allow = [...methods].sort().join(', ');
  const routes = METHODS.map((method): [string, Route] => {
    const policy = policies.get(method === 'HEAD' ? 'GET' : method);
    const { limit, bytes = null, cached = null, admin = null, queued = true, dialect = null } = policy ?? {};
    return [
      method,
      {
        name,
        method,
        found: policy !== undefined,
        allow,
        limit: limit ?? (READING.has(method) ? 'read' : 'write'),
        bytes,
        cached: method === 'GET' ? cached : null,
        admin,
        // Requests with a body begin at once: while they waited, the body would accumulate in memory.
        queued: queued && READING.has(method),
        dialect,
      },
    ];
  });
  return new Map(routes);
}

function policyOf(hooks: unknown): Policy {
  return (hooks as { policy?: Policy } | undefined)?.policy ?? {};
}

function newSegment(): Segment {
  return { named: new Map(), any: null, routes: null };
}

function childOf(segment: Segment, name: string): Segment {
  if (name.startsWith(':')) {
    segment.any ??= newSegment();
    return segment.any;
  }
  const child = segment.named.get(name) ?? newSegment();
  segment.named.set(name, child);
  return child;
}

function trimmed(path: string): string {
  return path.length > 1 && path.endsWith('/') ? path.slice(0, -1) : path;
}

function fail(path: string): never {
  throw new Error(`no route for ${path}`);
}
