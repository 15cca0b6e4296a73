import { Elysia } from 'elysia';
import type { ContextOf } from '../http/request-context.ts';

interface GatewayRoutesOptions {
  contextOf: ContextOf;
  /** `null` if the gateway is off. */
  port: number | null;
}

/** Serves the configuration that browsers load, which sends everything public through the gateway. */
export function gatewayRoutes({ contextOf, port }: GatewayRoutesOptions) {
  if (port === null) return new Elysia();
  return new Elysia().get(
    '/proxy.pac',
    ({ request }) =>
      new Response(pacFile(placeOf(contextOf(request).origin, port)), {
        headers: { 'content-type': 'application/x-ns-proxy-autoconfig', 'cache-control': 'no-cache' },
      }),
    { detail: { hide: true } },
  );
}

/** Returns the gateway's address under the name by which the client knows the server: `pool.example.org:8899`. */
export function placeOf(origin: string, port: number): string {
  return `${new URL(origin).hostname}:${port}`;
}

/** Local names and addresses are reached directly, because the gateway would refuse them. */
function pacFile(place: string): string {
  return `function FindProxyForURL(url, host) {
  if (isPlainHostName(host) || shExpMatch(host, '*.local') || shExpMatch(host, '127.*') ||
      shExpMatch(host, '10.*') || shExpMatch(host, '192.168.*') || host.charAt(0) === '[') return 'DIRECT';
  return 'PROXY ${place}';
}
`;
}
