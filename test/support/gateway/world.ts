import { createHash } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createCertificates } from '../certificates.ts';
import { cliCommand, cliEnvironment } from '../servers/cli.ts';
import type { RuntimeName } from '../servers/server-process.ts';
import { type FarmRole, startGatewayFarm } from './farm.ts';

/** What both targets answer on `/`, and 8 MB on `/large`; on `/endless`, its beginning without end. */
export const TARGET_PAGE = 'the page of the target\n';
export const LARGE = Buffer.alloc(8 * 1024 * 1024, 'picpool gateway ');
export const sha = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex');

/** Targets, and a farm in which each address plays what the list says. */
export async function startGatewayWorld() {
  const certificates = await createCertificates();
  const folder = await mkdtemp(join(tmpdir(), 'picpool-gateway-'));
  const ca = join(folder, 'ca.pem');
  await writeFile(ca, certificates.ca);
  const seen = new Map<string, number>();

  async function answer(request: Request): Promise<Response> {
    const { pathname, search } = new URL(request.url);
    seen.set(`${request.method} ${search}`, (seen.get(`${request.method} ${search}`) ?? 0) + 1);
    if (pathname === '/large') return new Response(LARGE);
    if (pathname === '/endless')
      return new Response(new ReadableStream({ pull: (to) => to.enqueue(LARGE.subarray(0, 65_536)) }));
    if (pathname === '/echo') return new Response(await request.arrayBuffer());
    if (pathname === '/headers') return Response.json(Object.fromEntries(request.headers));
    if (pathname === '/broken') return new Response('out of order', { status: 503 });
    return new Response(TARGET_PAGE, { headers: { server: 'target' } });
  }
  const http = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: answer });
  const https = Bun.serve({ hostname: '127.0.0.1', port: 0, tls: certificates.good, fetch: answer });
  const roles: FarmRole[] = [];
  const farm = startGatewayFarm((address) => roles[indexOf(address)] ?? 'hang');
  return {
    farm,
    /** URLs of the same target over http and https; the name is one of the certificate. */
    http: `http://example.com:${http.port}`,
    https: `https://example.com:${https.port}`,
    ca,
    /** Requests of each kind that the targets saw, by what stood after `?`. */
    seen,
    folder,
    /** A list of one proxy of each role, in this order. */
    listOf(...wanted: FarmRole[]) {
      return wanted.map((role) => {
        const address = addressOf(roles.push(role) - 1);
        const protocol = role.startsWith('socks') ? role : 'http';
        return `${protocol}://${address}:${farm.port}`;
      });
    },
    async close() {
      farm.stop();
      await Promise.all([http.stop(true), https.stop(true)]);
      await rm(folder, { recursive: true });
    },
  };
}

export type GatewayWorld = Awaited<ReturnType<typeof startGatewayWorld>>;

function addressOf(index: number): string {
  return `127.9.${index >> 8}.${(index & 255) + 1}`;
}

function indexOf(address: string): number {
  const [, , high = 0, low = 1] = address.split('.').map(Number);
  return high * 256 + low - 1;
}

/** Starts `picpool gateway` over a list. */
export async function startGatewayProcess(
  list: readonly string[],
  args: string[] = [],
  { runtime = 'bun', env = {} }: { runtime?: RuntimeName; env?: Record<string, string> } = {},
) {
  const standard = ['gateway', '--list', '-', '--port', '0', '--allow-private', '--ports', 'any'];
  const child = Bun.spawn(cliCommand([...standard, ...args], runtime), {
    stdin: new Blob([`${list.join('\n')}\n`]),
    stdout: 'ignore',
    stderr: 'pipe',
    env: cliEnvironment(env),
  });
  let stderr = '';
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  const reading = (async () => {
    const decoder = new TextDecoder();
    for await (const chunk of child.stderr) {
      stderr += decoder.decode(chunk, { stream: true });
      const port = /127\.0\.0\.1:(\d+)/.exec(stderr)?.[1];
      if (port) resolve(Number(port));
    }
    reject(new Error(`the gateway ended before it listened: ${stderr}`));
  })();
  const port = await promise;
  /** Resolves with the exit code. */
  const ended = async () => {
    const code = await child.exited;
    await reading;
    return code;
  };
  return {
    port,
    pid: child.pid,
    stderr: () => stderr,
    ended,
    /** Ends it with SIGTERM; answers the exit code. */
    stop() {
      child.kill('SIGTERM');
      return ended();
    },
  };
}

export type GatewayProcess = Awaited<ReturnType<typeof startGatewayProcess>>;

/** Runs curl; answers what it wrote, and its exit code. */
export async function curl(...args: string[]): Promise<{ code: number; out: Buffer; err: string }> {
  const child = Bun.spawn(['curl', '-sS', '--max-time', '30', ...args], { stdout: 'pipe', stderr: 'pipe' });
  const [out, err] = await Promise.all([
    new Response(child.stdout).arrayBuffer(),
    new Response(child.stderr).text(),
  ]);
  return { code: await child.exited, out: Buffer.from(out), err };
}
