import { type Call, type Route, route } from '../http/route.ts';

/** The configuration file for browsers. `port`: `null` if the gateway is off. */
export function gatewayRoutes(port: number | null): Route[] {
  return port === null ? [] : [route('GET /proxy.pac', (call) => showPac(port, call))];
}

/** Serves the configuration that browsers load, which sends everything public through the gateway. */
function showPac(port: number, { context }: Call): Response {
  return new Response(pacFile(placeOf(context.origin, port)), {
    headers: { 'content-type': 'application/x-ns-proxy-autoconfig', 'cache-control': 'no-cache' },
  });
}

/** Returns the gateway's address under the name by which the client knows the server: `pool.example.org:8899`. */
export function placeOf(origin: string, port: number): string {
  return `${new URL(origin).hostname}:${port}`;
}

/** Local names and addresses are reached directly, because the gateway would refuse them. */
function pacFile(place: string): string {
  return `function FindProxyForURL(url, host) {
  var name = host.toLowerCase();
  if (isPlainHostName(name) || name.indexOf(':') >= 0 ||
      /\\.(localhost|local|internal|intranet|lan|home|corp|home\\.arpa)$/.test(name) ||
      /^(10|127|169\\.254|172\\.(1[6-9]|2\\d|3[01])|192\\.168|100\\.(6[4-9]|[7-9]\\d|1[01]\\d|12[0-7]))(\\.\\d+)+$/.test(name))
    return 'DIRECT';
  return 'PROXY ${place}';
}
`;
}
