/**
 * Tunnels that clients and servers cut at random, read slowly and end by halves: what arrives must be whole, and nothing may
 * be left when they are over. `bun bench/gateway/tunnels.ts [COUNT] [bun|deno] [SEED]`; 50,000 of them take some four minutes.
 */
import { createHash } from 'node:crypto';
import { readdir, readlink } from 'node:fs/promises';
import { connect, createServer, type Socket } from 'node:net';
import { createRandom } from '../../test/support/random.ts';
import { startBenchFarm, startGateway } from './world.ts';

const COUNT = Number(process.argv[2] ?? 5_000);
const DENO = process.argv[3] === 'deno';
const AT_ONCE = 64;
/** A half-closed tunnel is cut after a minute, and checked every 5 s. */
const SETTLING_MS = 75_000;
const MOST_KEPT_MB = 150;
/** Random bytes from which every message is taken. */
const SEA = crypto.getRandomValues(new Uint8Array(65_536));
const POOL = Buffer.concat(Array.from({ length: 64 }, () => SEA));
const random = createRandom(Number(process.argv[4] ?? 20));
const pick = (most: number) => Math.floor(random() * most);
const hashOf = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex');

const LIFE = { whole: 0.55, slow: 0.15, cutByClient: 0.15, cutByServer: 0.15 } as const;
type Life = keyof typeof LIFE;

/** Reads everything until the client has ended its half, and answers with its hash and as many bytes as requested. */
const server = createServer({ allowHalfOpen: true }, (socket) => {
  const hash = createHash('sha256');
  let first: Buffer | undefined;
  let seen = 0;
  socket.on('error', () => {});
  socket.on('data', (bytes: Buffer) => {
    first ??= bytes;
    hash.update(bytes);
    seen += bytes.length;
    if (first.length >= 8 && first.readUInt8(3) === 1 && seen > 1000) socket.resetAndDestroy();
  });
  socket.on('end', () => {
    if (!first || first.length < 8) {
      socket.destroy();
      return;
    }
    socket.write(hash.digest('hex'));
    socket.end(POOL.subarray(0, first.readUInt32BE(4)));
  });
});
await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
const address = server.address();
const target = `127.0.0.1:${typeof address === 'object' ? address?.port : 0}`;

const farm = await startBenchFarm(100, { http: 1 });
const subject = await startGateway(farm.listFile, DENO ? 'deno' : 'bun');

const ends: Record<string, number> = {};
const count = (what: string) => {
  ends[what] = (ends[what] ?? 0) + 1;
};

await work(200);
const before = await openFiles();
const memoryBefore = await memory();
const startedAt = performance.now();
await work(COUNT);
const seconds = (performance.now() - startedAt) / 1000;
const after = await settled(before);
const { open } = await farm.facts();
const idle = await idleCpu();
const memoryAfter = await memory();
// What a runtime caches is not counted as a leaked buffer.
const good =
  after <= before && ends.damaged === undefined && idle < 50 && memoryAfter < memoryBefore + MOST_KEPT_MB;
console.log(
  `${good ? 'ok  ' : 'MISS'} ${COUNT} tunnels on ${DENO ? 'deno' : 'bun'} in ${seconds.toFixed(0)} s: ${JSON.stringify(ends)}; ` +
    `sockets of the gateway ${before} before, ${after} after; of the farm ${open}; ` +
    `memory ${memoryBefore} MB before, ${memoryAfter} after; CPU in 5 s without work ${idle} ms`,
);
await subject.stop();
await farm.stop();
process.exit(good ? 0 : 1);

async function work(total: number): Promise<void> {
  let left = total;
  await Promise.all(
    Array.from({ length: AT_ONCE }, async () => {
      while (left-- > 0) count(await one(lifeOf(random())));
    }),
  );
}

function lifeOf(dice: number): Life {
  let sum = 0;
  for (const [life, share] of Object.entries(LIFE)) {
    sum += share;
    if (dice < sum) return life as Life;
  }
  return 'whole';
}

async function one(life: Life): Promise<string> {
  const socket = connect({ host: '127.0.0.1', port: subject.port, allowHalfOpen: true });
  socket.on('error', () => {});
  const size = 8 + pick(random() < 0.1 ? 2_000_000 : 20_000);
  const wanted = pick(random() < 0.1 ? 2_000_000 : 20_000);
  const message = Buffer.from(POOL.subarray(0, size));
  message.writeUInt32BE(life === 'cutByServer' ? 1 : 0, 0);
  message.writeUInt32BE(wanted, 4);
  const heard = await converse(socket, { message, life });
  socket.destroy();
  if (life === 'cutByClient') return 'cut by the client';
  if (life === 'cutByServer' && heard.length < 64 + wanted) return 'cut by the server';
  const whole =
    heard.subarray(0, 64).toString() === hashOf(message) &&
    heard.subarray(64).equals(POOL.subarray(0, wanted));
  return whole ? life : 'damaged';
}

/** Opens the tunnel, sends the message, ends its half, and returns everything received. */
function converse(socket: Socket, { message, life }: { message: Buffer; life: Life }): Promise<Buffer> {
  return new Promise((resolve) => {
    const heard: Buffer[] = [];
    let opened = false;
    const done = () => resolve(Buffer.concat(heard));
    const timer = setTimeout(done, 60_000);
    socket.on('close', () => clearTimeout(timer));
    socket.on('close', done);
    socket.on('end', done);
    socket.on('data', (bytes: Buffer) => {
      if (!opened) {
        opened = true;
        // Nothing can follow the answer before we have sent something.
        socket.write(message);
        if (life === 'cutByClient') setTimeout(() => socket.resetAndDestroy(), pick(20));
        else socket.end();
        return;
      }
      heard.push(bytes);
      if (life === 'slow') {
        socket.pause();
        setTimeout(() => socket.resume(), 5);
      }
    });
    socket.write(`CONNECT ${target} HTTP/1.1\r\nHost: ${target}\r\n\r\n`);
  });
}

async function openFiles(): Promise<number> {
  const folder = `/proc/${subject.pid}/fd`;
  const links = await Promise.all(
    (await readdir(folder)).map((fd) => readlink(`${folder}/${fd}`).catch(() => '')),
  );
  return links.filter((link) => link.startsWith('socket:')).length;
}

/**
 * Returns the number of open sockets once it is no larger than before, or after the time in which the gateway cuts
 * half-closed tunnels.
 */
async function settled(wanted: number): Promise<number> {
  const deadline = performance.now() + SETTLING_MS;
  let now = await openFiles();
  while (now > wanted && performance.now() < deadline) {
    await Bun.sleep(100);
    now = await openFiles();
  }
  return now;
}

/** CPU in ms during 5 idle seconds, in which leaked timers would show. */
async function idleCpu(): Promise<number> {
  const start = await subject.cpuMs();
  await Bun.sleep(5_000);
  return (await subject.cpuMs()) - start;
}

async function memory(): Promise<number> {
  const text = await Bun.file(`/proc/${subject.pid}/status`).text();
  return Math.round(Number(/VmRSS:\s+(\d+)/.exec(text)?.[1] ?? 0) / 1024);
}
