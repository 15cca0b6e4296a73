/**
 * The farm, the targets and the judges of the benchmark, in a process of their own: told the share of each role in JSON as
 * its argument, it prints where everything is. `GET /facts` tells what came.
 */
import { writeFile } from 'node:fs/promises';
import { createCertificates } from '../../test/support/certificates.ts';
import { startJudge } from '../../test/support/farm/judge-server.ts';
import { startWitness } from '../../test/support/farm/witness-server.ts';
import { type FarmRole, startGatewayFarm } from '../../test/support/gateway/farm.ts';

const { count, shares, ca } = JSON.parse(process.argv[2] ?? '') as {
  count: number;
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
const farm = startGatewayFarm((address) => {
  const [, , high = 0, low = 1] = address.split('.').map(Number);
  return roles[placeOf(high * 250 + low - 1)] ?? 'http';
});
const body = 'x'.repeat(1000);
const posts = new Map<string, number>();
async function fetch(request: Request): Promise<Response> {
  const { pathname, search } = new URL(request.url);
  if (pathname === '/facts') {
    const dials = [...farm.dials.values()].reduce((sum, one) => sum + one, 0);
    const twice = [...posts.values()].filter((times) => times > 1).length;
    return Response.json({ dials, open: farm.open(), posts: posts.size, twice });
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
