import type { KeyPair } from '../certificates.ts';

/** A request of a client in a form that can be sent again. */
export interface ClientRequest {
  method: string;
  path: string;
  headers: Record<string, string>;
  /** In Base64. */
  body: string;
}

/** The headers that decide how a request is handled. */
const KEPT = ['content-type', 'authorization', 'token', 'accept', 'user-agent', 'x-rapidapi-key'];

/** A proxy in front of a server of this machine, with TLS and without, that remembers what clients send. */
export function startClientFront(server: string, tls: KeyPair) {
  let requests: ClientRequest[] = [];

  async function pass(request: Request): Promise<Response> {
    const { pathname, search, protocol } = new URL(request.url);
    const { method } = request;
    const body = await request.arrayBuffer();
    if (method !== 'GET') {
      const headers = KEPT.flatMap((name) => {
        const value = request.headers.get(name);
        return value === null ? [] : [[name, value] as const];
      });
      const text = Buffer.from(body).toString('base64');
      requests.push({ method, path: pathname + search, headers: Object.fromEntries(headers), body: text });
    }
    const headers = new Headers(request.headers);
    headers.set('x-forwarded-proto', protocol.slice(0, -1));
    return fetch(server + pathname + search, { method, headers, ...(body.byteLength > 0 && { body }) });
  }

  const plain = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: pass });
  const secure = Bun.serve({ port: 0, hostname: '127.0.0.1', tls, fetch: pass });
  return {
    /** Without a slash at its end. */
    http: `http://127.0.0.1:${plain.port}`,
    https: `https://127.0.0.1:${secure.port}`,
    /** Returns what arrived since the last call. */
    taken() {
      const taken = requests;
      requests = [];
      return taken;
    },
    async stop() {
      await Promise.all([plain.stop(true), secure.stop(true)]);
    },
  };
}
