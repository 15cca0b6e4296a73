/** CPU of tunnels through the gateway against a bare relay to the same proxy, taking turns: for each short one, and for each GiB. */
import { join } from 'node:path';
import { type Subject, startBenchFarm, startGateway, startSubject } from './world.ts';

const SHORT = 3_000;
/** The first thousands are compiled meanwhile, which is not the cost of a tunnel. */
const WARM_UP = 20_000;
const BYTES = 512 * 1024 * 1024;
const MESSAGE = Buffer.alloc(500, 'x');
const BLOCK = Buffer.alloc(1024 * 1024, 'x');

const echo = Bun.listen({
  hostname: '127.0.0.1',
  port: 0,
  socket: { data: (socket, bytes) => void socket.write(bytes) },
});
const sink = Bun.listen<{ left: number }>({
  hostname: '127.0.0.1',
  port: 0,
  socket: {
    open(socket) {
      socket.data = { left: BYTES };
    },
    data: (socket) => pour(socket),
    drain: (socket) => pour(socket),
  },
});
function pour(socket: { data: { left: number }; write(bytes: Uint8Array): number; end(): void }): void {
  while (socket.data.left > 0) {
    const block = BLOCK.subarray(0, Math.min(BLOCK.length, socket.data.left));
    const sent = Math.max(0, socket.write(block));
    socket.data.left -= sent;
    if (sent < block.length) return;
  }
  socket.end();
}

const farm = await startBenchFarm(1, { http: 1 });
const [first = ''] = farm.list;
const here = import.meta.dirname;
const bare = await startSubject(
  [process.execPath, join(here, 'bare-relay.ts'), first.replace('http://', '')],
  {
    said: /127\.0\.0\.1:(\d+)/,
  },
);
const gateway = await startGateway(farm.listFile);

await shorts(bare, WARM_UP);
await shorts(gateway, WARM_UP);
const short: number[] = [];
const long: number[] = [];
for (let round = 0; round < 3; round++) {
  const [a, b] = [await shorts(bare), await shorts(gateway)];
  const [c, d] = [await gib(bare), await gib(gateway)];
  console.log(`short ${a.toFixed(0)} and ${b.toFixed(0)} us; GiB ${c.toFixed(2)} and ${d.toFixed(2)} s`);
  short.push(b / a);
  long.push(d / c);
}
const median = (values: number[]) => values.toSorted((a, b) => a - b)[1] ?? Number.NaN;
for (const [what, ratio, most] of [
  ['short tunnel', median(short), 1.5],
  ['GiB', median(long), 1.2],
] as const) {
  console.log(
    `${ratio <= most ? 'ok  ' : 'MISS'} CPU of a ${what} over that of a bare relay: ${ratio.toFixed(2)} (<= ${most})`,
  );
}
await Promise.all([bare.stop(), gateway.stop(), farm.stop()]);
process.exit();

/** CPU of one short tunnel in us. */
async function shorts(subject: Subject, count = SHORT): Promise<number> {
  const before = await subject.cpuMs();
  let left = count;
  await Promise.all(
    Array.from({ length: 16 }, async () => {
      while (left-- > 0) await tunnel(subject.port, echo.port, MESSAGE.length);
    }),
  );
  return (((await subject.cpuMs()) - before) * 1000) / count;
}

/** CPU of a GiB in s. */
async function gib(subject: Subject): Promise<number> {
  const before = await subject.cpuMs();
  await tunnel(subject.port, sink.port, BYTES);
  return ((await subject.cpuMs()) - before) / 1000 / (BYTES / 2 ** 30);
}

/** Opens a tunnel, sends data, and ends once this many bytes have come back. */
function tunnel(port: number, target: number, wanted: number): Promise<void> {
  return new Promise((resolve, reject) => {
    let opened = false;
    let seen = 0;
    Bun.connect({
      hostname: '127.0.0.1',
      port,
      socket: {
        open: (socket) => void socket.write(`CONNECT 127.0.0.1:${target} HTTP/1.1\r\nHost: x\r\n\r\n`),
        data(socket, bytes) {
          if (!opened) {
            opened = true;
            socket.write(MESSAGE);
            return;
          }
          seen += bytes.length;
          if (seen >= wanted) socket.end();
        },
        close: () => resolve(),
        connectError: (_socket, error) => reject(error),
      },
    }).catch(reject);
  });
}
