import { readFileSync } from 'node:fs';
const root = '/work/wt/albums';
const { startServer } = await import(root + '/test/support/server-process.ts');
const sharp = (await import('sharp')).default;
const runtime = (process.argv[2] ?? 'bun') as 'bun' | 'deno';
const s = await startServer(runtime, { SERVICES: 'image', RATE_LIMITS: 'off', IMAGE_MAX_UPLOAD: '64MiB', IMAGE_MIN_FREE: '0' });
const rss = () => Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${s.pid}/status`, 'utf8'))?.[1]) / 1024;
const post = async (p: string, b: any, h = {}) => (await fetch(s.url + p, { method: 'POST', body: b, headers: h })).json() as any;
const make = () => post('/api/albums', '{}', { 'content-type': 'application/json' });
const tiny = await sharp({ create: { width: 40, height: 30, channels: 3, background: '#369' } }).png().toBuffer();
const small = await make();
let t = performance.now();
await Promise.all(Array.from({ length: 5 }, async (_, lane) => {
  for (let n = 0; n < 10; n++) {
    const form = new FormData();
    form.set('album', small.id); form.set('album_token', small.token);
    for (let i = 0; i < 20; i++) form.append('image', new File([tiny], `p${lane}-${n}-${i} 猫.png`));
    const a = await post('/api/upload', form);
    if (a.stored !== 20) console.log(JSON.stringify(a).slice(0, 300));
  }
}));
console.log('1000 uploads s', (performance.now() - t) / 1000);
t = performance.now();
const zip = await (await fetch(`${s.url}/a/${small.id}.zip`)).bytes();
console.log('zip of 1000: ms', performance.now() - t, 'bytes', zip.length);
await Bun.write(`/tmp/small-${runtime}.zip`, zip);
for (const path of [`/api/albums/${small.id}`, `/a/${small.id}`]) {
  const times = [];
  for (let i = 0; i < 20; i++) { t = performance.now(); const a = await fetch(s.url + path); await a.bytes(); times.push(performance.now() - t); }
  console.log(path.slice(0, 5), 'median ms', times.sort((a, b) => a - b)[10]);
}
const big = await make();
const raw = Buffer.alloc(3000 * 3000 * 3); for (let i = 0; i < raw.length; i += 65536) crypto.getRandomValues(raw.subarray(i, Math.min(i + 65536, raw.length)));
const noise = await sharp(raw, { raw: { width: 3000, height: 3000, channels: 3 } }).png({ compressionLevel: 0 }).toBuffer();
console.log('noise MB', noise.length / 1e6);
for (let i = 0; i < 12; i++) {
  const form = new FormData();
  form.set('album', big.id); form.set('album_token', big.token); form.set('format', 'png');
  form.append('image', new File([noise], `big${i}.png`));
  const a = await post('/api/upload', form);
  if (!a.success) console.log(a);
}
await Bun.sleep(2000);
const before = rss();
let peak = 0; const timer = setInterval(() => { peak = Math.max(peak, rss()); }, 20);
t = performance.now();
let got = 0; for await (const piece of (await fetch(`${s.url}/a/${big.id}.zip`)).body!) got += piece.length;
console.log('big zip MB', got / 1e6, 's', (performance.now() - t) / 1000, 'rss before', before, 'peak', peak);
peak = 0;
// A slow reader: curl with a rate limit; and one that is broken off.
const slow = Bun.spawn(['curl', '-s', '--limit-rate', '20M', '-o', `/tmp/big-${runtime}.zip`, `${s.url}/a/${big.id}.zip`]);
await slow.exited;
console.log('slow reader: peak', peak);
peak = 0;
const stuck = Bun.spawn(['curl', '-s', '--limit-rate', '100K', '-o', '/dev/null', `${s.url}/a/${big.id}.zip`]);
const stuck2 = Bun.spawn(['curl', '-s', '--limit-rate', '100K', '-o', '/dev/null', `${s.url}/a/${big.id}.zip`]);
await Bun.sleep(4000);
const fds = () => Number(new TextDecoder().decode(Bun.spawnSync(['sh', '-c', `ls /proc/${s.pid}/fd | wc -l; ls -l /proc/${s.pid}/fd | grep -c '/images/'`]).stdout).split('\n')[1]);
console.log('two stuck readers: peak', peak, 'open image files', fds(), 'third', (await fetch(`${s.url}/a/${big.id}.zip`, { method: 'GET' })).status);
stuck.kill(9); stuck2.kill(9);
await Bun.sleep(1500);
console.log('after break: open image files', fds(), 'again', (await fetch(`${s.url}/a/${big.id}.zip`, { method: 'HEAD' })).status);
const again = await fetch(`${s.url}/a/${big.id}.zip`); console.log('again', again.status); await again.body?.cancel();
clearInterval(timer);
await s.stop();
