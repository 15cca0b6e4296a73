import { describe, expect, test } from 'bun:test';
import { connect } from 'node:net';
import { absent } from '../support/absent.ts';
import { FORGED_HEADERS } from '../support/clients/forged-headers.ts';
import { FRONT_DOORS, type OpenDoor, PROXY } from '../support/servers/front-doors.ts';
import { PNG } from '../support/servers/running-server.ts';
import { withFolder } from '../support/temporary.ts';

const UPLOADER = '127.0.0.2';

interface Answer {
  status: number;
  json: Record<string, string>;
}

/** Sends a request as it is written, from that address. */
function send(door: OpenDoor, from: string, head: string[], body = Buffer.alloc(0)): Promise<Answer> {
  const { promise, resolve, reject } = Promise.withResolvers<Answer>();
  // An IPv6 listener is reached over IPv4, too, so that visitors can have addresses of their own.
  const host = door.hostname === '::' || door.hostname === '0.0.0.0' ? '127.0.0.1' : door.hostname;
  const socket = connect({ host, port: door.port, localAddress: from });
  const pieces: Buffer[] = [];
  const lines = [
    ...head,
    `Host: 127.0.0.1:${door.port}`,
    'Connection: close',
    `Content-Length: ${body.length}`,
  ];
  socket.on('connect', () =>
    socket.write(Buffer.concat([Buffer.from(`${lines.join('\r\n')}\r\n\r\n`), body])),
  );
  socket.on('data', (piece: Buffer) => pieces.push(piece));
  socket.on('error', reject);
  socket.on('close', () => {
    const text = Buffer.concat(pieces).toString();
    const status = Number(/^HTTP\/1\.[01] (\d{3})/.exec(text)?.[1]);
    const json = /\{.*\}/s.exec(text)?.[0] ?? '{}';
    resolve({ status, json: status === 400 && !json.includes('"code"') ? {} : JSON.parse(json) });
  });
  return promise;
}

const upload = async (door: OpenDoor, from: string, lines: string[] = []) => {
  const { status, json } = await send(door, from, ['POST /api/upload HTTP/1.1', ...lines], Buffer.from(PNG));
  expect(status).toBe(201);
  return json as { id: string; delete_token: string };
};
const remove = (door: OpenDoor, from: string, id: string, lines: string[] = []) =>
  send(door, from, [`DELETE /api/delete/${id} HTTP/1.1`, ...lines]);

describe('nobody acts as another address', () => {
  for (const { name, byAddress, stranger = '127.0.0.3', open } of FRONT_DOORS) {
    const missing =
      (name.includes('nginx') && absent('nginx')) || (name.includes('Caddy') && absent('caddy'));
    test.skipIf(missing || absent('nginx'))(
      `${name}: in none of ${FORGED_HEADERS.length} forms`,
      async () => {
        await withFolder(async (folder) => {
          const door = await open(folder);
          try {
            const { id, delete_token } = await upload(door, UPLOADER);
            for (const { name: form, lines } of FORGED_HEADERS) {
              const as = lines(UPLOADER, PROXY);
              const refused = (await remove(door, stranger, id, as)).status;
              // Runtimes and proxies refuse some forms as no HTTP.
              expect([form, [400, 403].includes(refused), refused]).toEqual([form, true, refused]);
              const seen = await send(door, stranger, ['GET /api/judge HTTP/1.1', ...as]);
              expect([form, seen.json.address]).not.toEqual([form, UPLOADER]);
            }
            const own = await remove(door, UPLOADER, id);
            expect([own.status, own.json.code]).toEqual(byAddress ? [200, undefined] : [403, 'forbidden']);
            if (!byAddress) {
              expect((await remove(door, stranger, id, [`X-Delete-Token: ${delete_token}`])).status).toBe(
                200,
              );
            }
          } finally {
            await door.stop();
          }
        });
      },
      180_000,
    );
  }
});

test('SECURITY.md has a row for each way of running the server', async () => {
  const security = await Bun.file('SECURITY.md').text();
  for (const { name, byAddress } of FRONT_DOORS) {
    expect(security).toContain(`| ${name} | ${byAddress ? 'yes' : 'no'} | 0 of ${FORGED_HEADERS.length} |`);
  }
});
