import { describe, expect, test } from 'bun:test';
import { spawnSync } from 'node:child_process';
import { readdir, rm, truncate } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import { photo, transparent } from '../support/images/images.ts';
import { json } from '../support/json.ts';
import { childrenOf, isRunning } from '../support/servers/processes.ts';
import { type ServerProcess, startServer } from '../support/servers/server-process.ts';
import { until } from '../support/stores/services.ts';
import { withFolder } from '../support/temporary.ts';

const ENV = { SERVICES: 'image', RATE_LIMITS: 'off', LOG_LEVEL: 'error', IMAGE_WORKERS: '2' };

interface Stored {
  id: string;
  raw_url: string;
  size: number;
}

async function withServer(
  env: Record<string, string>,
  work: (server: ServerProcess) => Promise<void>,
  folder?: string,
  wrapper?: readonly string[],
): Promise<void> {
  const server = await startServer('bun', { ...ENV, ...env }, folder, wrapper);
  try {
    await work(server);
  } finally {
    expect(await server.stop()).toBe(0);
  }
}

function upload({ url }: ServerProcess, bytes: Uint8Array, query = ''): Promise<Response> {
  return fetch(`${url}/api/upload?${query}`, { method: 'POST', body: new Uint8Array(bytes) });
}

async function read({ url }: ServerProcess, { raw_url, size }: Stored): Promise<void> {
  const answer = await fetch(new URL(new URL(raw_url).pathname, url));
  expect([answer.status, (await answer.bytes()).length]).toEqual([200, size]);
}

test('bodies that stop arriving hold nobody up, and leave nothing', async () => {
  await withServer({}, async (server) => {
    const { hostname, port } = new URL(server.url);
    const stalled = await Promise.all(
      Array.from({ length: 40 }, async () => {
        const socket = connect(Number(port), hostname);
        await new Promise((resolve) => socket.once('connect', resolve));
        socket.on('error', () => {});
        socket.write(
          'POST /api/upload HTTP/1.1\r\nHost: localhost\r\nContent-Length: 90000\r\n\r\n\x89PNG\r\n',
        );
        return socket;
      }),
    );
    const temporary = () => readdir(join(server.folder, 'tmp')).catch(() => []);
    await until(async () => (await temporary()).length === stalled.length);
    expect((await upload(server, await transparent())).status).toBe(201);
    for (const socket of stalled) socket.destroy();
    await until(async () => (await temporary()).length === 0);
  });
}, 180_000);

/** Mounts of a namespace of its own end with the server, and need no right of the machine. */
const NAMESPACE = ['unshare', '--map-root-user', '--mount'];
const canMount = spawnSync(NAMESPACE[0] ?? '', [...NAMESPACE.slice(1), 'true']).status === 0;
if (!canMount) console.warn('No user namespaces here: full and read-only disks are not tested.');

describe.if(canMount)('a disk that', () => {
  test('is full refuses uploads with 507, and goes on reading, blocking and deleting', async () => {
    const large = await photo(900, 700);
    const mount = [
      ...NAMESPACE,
      'sh',
      '-c',
      'mount -t tmpfs -o size=16m tmpfs "$DATA_DIR" && exec "$@"',
      'sh',
    ];
    await withFolder((folder) =>
      withServer(
        { IMAGE_MIN_FREE: '0', ADMIN_TOKEN: 'the-administrator' },
        async (server) => {
          const headers = { authorization: 'Bearer the-administrator', 'content-type': 'application/json' };
          const act = (method: string, path: string, body?: object) =>
            fetch(`${server.url}/api/admin/${path}`, { method, headers, body: JSON.stringify(body) });
          expect((await act('POST', 'tokens', { name: 'filler', role: 'upload' })).status).toBe(201);
          const stored: Stored[] = [];
          let refusal: Response | null = null;
          for (let count = 0; count < 100 && !refusal; count++) {
            const answer = await upload(server, large, 'format=png');
            if (answer.status === 201) stored.push(await json<Stored>(answer));
            else refusal = answer;
          }
          expect(refusal?.status).toBe(507);
          expect(await json(refusal as unknown as Response)).toMatchObject({
            success: false,
            code: 'storage_full',
          });
          expect(stored.length).toBeGreaterThan(0);
          const disk = `/proc/${server.pid}/root${folder}`;
          // The compiled program puts its libraries elsewhere: each process would fill this disk for a moment.
          expect(await readdir(join(disk, 'native')).catch(() => [])).toEqual([]);
          for (const image of stored) await read(server, image);
          const list = await json<{ total: number }>(await fetch(`${server.url}/api/list`));
          expect(list.total).toBe(stored.length);
          // To the last byte, for what was refused has given its space back.
          const fill = (name: string) => spawnSync('sh', ['-c', `cat /dev/zero >'${disk}/${name}'`]);
          for (const name of ['filler', 'more']) fill(name);
          expect((await upload(server, await transparent())).status).toBe(507);
          expect((await fetch(`${server.url}/i/${stored[0]?.id}.png?w=320`)).status).toBe(200);
          // Nobody escapes a block by filling the disk, and the log has it.
          expect((await act('POST', 'blocks', { network: '192.0.2.1' })).status).toBe(200);
          expect((await act('DELETE', 'tokens/filler')).status).toBe(200);
          const log = await (await act('GET', 'log')).text();
          for (const subject of ['network 192.0.2.1', 'token filler']) expect(log).toContain(subject);
          const hidden = { method: 'PATCH', headers, body: JSON.stringify({ visibility: 'unlisted' }) };
          expect((await fetch(`${server.url}/api/image/${stored[0]?.id}`, hidden)).status).toBe(200);
          // Moderators never use up what users need to delete, however much they do...
          for (let host = 2; host < 152; host++)
            expect((await act('POST', 'blocks', { network: `192.0.2.${host}` })).status).toBe(200);
          // ...and once little is reserved, they leave it to users.
          await truncate(join(disk, 'picpool.db-reserve'), 2 ** 20);
          fill('rest');
          expect((await act('POST', 'blocks', { network: '192.0.2.200' })).status).toBe(507);
          for (const { id } of stored.splice(0, 3)) {
            const answer = await fetch(`${server.url}/api/delete/${id}`, { method: 'DELETE' });
            expect([answer.status, (await fetch(`${server.url}/i/${id}.png`)).status]).toEqual([200, 404]);
            // Another program takes what it has freed.
            spawnSync('sh', ['-c', `cat /dev/zero >>'${disk}/rest'`]);
          }
          for (const image of stored) await read(server, image);
          for (const name of ['filler', 'more', 'rest']) await rm(join(disk, name));
          // How much is free is believed for a moment.
          const small = await transparent();
          await until(async () => (await upload(server, small)).status === 201);
          expect(await readdir(`/proc/${server.pid}/root${folder}/tmp`)).toEqual([]);
        },
        folder,
        mount,
      ),
    );
  }, 180_000);

  test('is full to the last byte lets a database be opened, and an image be deleted from it, or is named', () =>
    withFolder(async (folder) => {
      const script = '"$0" test/support/stores/full-disk.ts "$1"';
      const doctor = 'DATA_DIR="$1" "$0" src/main.ts doctor --offline >&2';
      const mount = `mount -t tmpfs -o size=8m tmpfs "$1" && ${script} store && ${script} fill`;
      const read = `${doctor}; DATA_DIR="$1" "$0" src/main.ts log && stat -c %s "$1"/picpool.db-reserve`;
      const without = `rm -f "$1"/picpool.db-reserve && ${script} fill && ${script} delete`;
      const words = [
        'sh',
        '-c',
        `${mount}; ${read} && ${script} delete && ${without}; ${doctor}; DATA_DIR="$1" PORT=0 "$0" src/main.ts`,
        process.execPath,
        folder,
      ];
      const child = Bun.spawn([...NAMESPACE, ...words], { stderr: 'pipe' });
      // What only reads leaves what is reserved for deletions, but for the space of the log.
      expect(await child.stdout.text()).toMatch(/^4[01]\d{5}\nremoved\n$/);
      const said = await child.stderr.text();
      expect(said).toMatch(/cannot start: The disk of the database is full\. \([a-z]/);
      expect(said.match(/record store .* is full\..*\n +Give it more space/g)).toHaveLength(2);
      expect(said).toMatch(/image conversion +There is no space left in .*\n +Free some space/);
    }));

  test('becomes read-only under conversion processes that die lets others start when it is writable again', async () => {
    await withFolder((folder) =>
      withServer(
        {},
        async (server) => {
          const image = await json<Stored>(await upload(server, await transparent()));
          const work = join(folder, 'work');
          const enter = ['-t', String(server.pid), '-U', '-m', '--preserve-credentials'];
          const remount = (how: string) =>
            expect(spawnSync('nsenter', [...enter, 'mount', '-o', `remount,${how}`, work]).status).toBe(0);
          remount('ro');
          const refused = async () => {
            const answer = await upload(server, await transparent());
            expect([answer.status, answer.headers.has('retry-after')]).toEqual([503, true]);
          };
          await refused();
          const workers = await childrenOf(server.pid);
          // The one that could not get its picture ends by itself.
          spawnSync('kill', ['-KILL', ...workers.map(String)]);
          await until(async () => !(await Promise.all(workers.map(isRunning))).includes(true));
          await refused();
          await read(server, image);
          remount('rw');
          await until(async () => (await upload(server, await transparent())).status === 201);
        },
        folder,
        [
          ...NAMESPACE,
          'sh',
          '-c',
          'mkdir "$DATA_DIR/work" && mount -t tmpfs tmpfs "$DATA_DIR/work" && exec "$@"',
          'sh',
        ],
      ),
    );
  }, 180_000);

  test('cannot be written refuses uploads with 503, and goes on reading', async () => {
    await withFolder(async (folder) => {
      let image: Stored | undefined;
      await withServer(
        {},
        async (server) => {
          image = await json<Stored>(await upload(server, await transparent()));
        },
        folder,
      );
      const script =
        'cd "$DATA_DIR" && mount --bind images images && mount -o remount,bind,ro images && cd - >/dev/null && exec "$@"';
      await withServer(
        {},
        async (server) => {
          const answer = await upload(server, await transparent());
          expect([answer.status, answer.headers.has('retry-after')]).toEqual([503, true]);
          expect(await json(answer)).toMatchObject({ success: false, code: 'unavailable' });
          if (image) await read(server, image);
          expect(await readdir(join(folder, 'tmp'))).toEqual([]);
        },
        folder,
        [...NAMESPACE, 'sh', '-c', script, 'sh'],
      );
    });
  }, 180_000);
});

test('a stopped server leaves no conversion process', async () => {
  let workers: number[] = [];
  await withServer({}, async (server) => {
    expect((await upload(server, await transparent())).status).toBe(201);
    workers = await childrenOf(server.pid);
    expect(workers).not.toBeEmpty();
  });
  expect(await Promise.all(workers.map(isRunning))).not.toContain(true);
});
