/**
 * The farm, the targets and the judges of the benchmark, in a process of their own: told the share of each role in JSON as
 * its argument, it prints where everything is. `GET /facts` tells what came since the last time, and which exits the target
 * has seen; after `GET /turn`, traitors are no longer honest.
 */
import { writeFile } from 'node:fs/promises';
import type { Server } from 'bun';
import { createCertificates } from '../../test/support/certificates.ts';
import { startJudge } from '../../test/support/farm/judge-server.ts';
import { startWitness } from '../../test/support/farm/witness-server.ts';
import { type FarmRole, startGatewayFarm } from '../../test/support/gateway/farm.ts';

const { count, shares, ca, honest, uneven } = JSON.parse(process.argv[2] ?? '') as {
  count: number;
  /** Whether traitors are at first. */
  honest: boolean;
  /** Whether tunnels take 150 to 1,750 ms, by proxy, instead of no time. */
  uneven: boolean;
  shares: Partial<Record<FarmRole, number>>;
  ca: string;
};

/** Mixed, so that neighbours play different roles. */
const roles: FarmRole[] = [];
for (const [role, share] of Object.entries(shares)) {
  for (let n = 0; n < Math.round(share * count); n++) roles.push(role as FarmRole);
}
const placeOf = (index: number) => (index * 7919) % count;

const certificates = await createCertificates();
await writeFile(ca, certificates.ca);
function indexOf(address: string): number {
  const [, , high = 0, low = 1] = address.split('.').map(Number);
  return placeOf(high * 250 + low - 1);
}
const farm = startGatewayFarm(
  (address) => {
    const role = roles[indexOf(address)] ?? 'http';
    return role.includes('-') && !turned ? 'http' : role;
  },
  { delayOf: (address) => (uneven ? 150 + (1600 * indexOf(address)) / count : 0) },
);
let turned = !honest;
/** The exits that the target has seen, in order; and the number of visits of each in this minute to the part with a limit. */
let seen: (string | undefined)[] = [];
const visits = new Map<string, number>();
setInterval(() => visits.clear(), 60_000);
const body = 'x'.repeat(1000);
const posts = new Map<string, number>();
async function fetch(request: Request, server: Server<undefined>): Promise<Response> {
  const { pathname, search } = new URL(request.url);
  const exit = farm.exitOf(server.requestIP(request)?.port ?? 0);
  if (pathname === '/turn') turned = true;
  if (exit !== undefined) seen.push(exit);
  if (exit !== undefined && pathname === '/limited') {
    visits.set(exit, (visits.get(exit) ?? 0) + 1);
    if ((visits.get(exit) ?? 0) > 20) return new Response('too many', { status: 429 });
  }
  if (pathname === '/facts') {
    const dials = [...farm.dials.values()].reduce((sum, one) => sum + one, 0);
    const twice = [...posts.values()].filter((times) => times > 1).length;
    const exits = seen;
    seen = [];
    return Response.json({ dials, open: farm.open(), posts: posts.size, twice, exits });
  }
  if (request.method === 'POST') {
    await request.arrayBuffer();
    posts.set(search, (posts.get(search) ?? 0) + 1);
  }
  return new Response(body, { headers: { server: 'target' } });
}
const options = { hostname: '127.0.0.1', port: 0, fetch };
const [http, https] = [Bun.serve(options), Bun.serve({ ...options, tls: certificates.good })];
const [judge, witness] = await Promise.all([
  startJudge({ tls: certificates.good, host: 'localhost' }),
  startWitness(),
]);
const list = Array.from({ length: count }, (_, index) => {
  const address = `127.40.${Math.floor(index / 250)}.${(index % 250) + 1}`;
  return `http://${address}:${farm.port}`;
});
console.log(
  JSON.stringify({
    http: `http://127.0.0.1:${http.port}`,
    https: `https://127.0.0.1:${https.port}`,
    judge: judge.url,
    witness: witness.url,
    list,
  }),
);
