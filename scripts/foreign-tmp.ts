import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { startServer } from '../test/support/server-process.ts';
import { SAMPLES } from '../test/support/samples.ts';
const [folder = '', out = ''] = process.argv.slice(2);
await mkdir(out, { recursive: true });
const server = await startServer('bun', { RATE_LIMITS: 'off', SERVICES: 'image', IMAGE_CONVERT_TIMEOUT: '2m', IMAGE_WORKERS: '2', MAX_UPLOAD_BYTES: '100MB' });
const rows: object[] = [];
let n = 0;
async function one(name: string, bytes: Buffer, path: string) {
  const answer = await fetch(`${server.url}/api/upload`, { method: 'POST', body: new Uint8Array(bytes) });
  const facts: any = await answer.json();
  const row: any = { name, path, error: facts.error ?? null, code: facts.code ?? null };
  if (facts.raw_url) { const f = await fetch(facts.raw_url); const id = `${n++}.${facts.format}`; await writeFile(join(out, id), Buffer.from(await f.arrayBuffer())); row.out = id; row.frames = facts.frames; row.width = facts.width; row.height = facts.height; }
  rows.push(row);
}
try {
  const files = (await Array.fromAsync(new Bun.Glob('**/*').scan({ cwd: folder }))).sort();
  const q = files.values();
  await Promise.all([1,2,3].map(async () => { for (const f of q) await one(f, await readFile(join(folder, f)), join(folder, f)).catch((e) => console.log(f, String(e))); }));
  await mkdir(join(out, 'in'), { recursive: true });
  for (const s of SAMPLES) { const b = await s.make(); const p = join(out, 'in', s.name.replace(/\W+/g, '_')); await writeFile(p, b); await one(`sample: ${s.name}`, b, p); }
} finally { await server.stop(); }
await writeFile(join(out, 'rows.json'), JSON.stringify(rows));
console.log(rows.length, rows.filter((r: any) => r.out).length);
