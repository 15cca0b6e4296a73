import { expect, test } from 'bun:test';
import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';
import { AnswerLost, type Call, createClient } from '../../src/cli/client.ts';
import { send } from '../../src/cli/upload.ts';
import { createRepetitions } from '../../src/image/upload/repetitions.ts';
import { listening } from '../support/servers/listening.ts';

test('an upload that gets no answer is sent again while the server still knows it', async () => {
  let passed = 0;
  let stored = 0;
  const repetitions = createRepetitions<number>(
    () => passed,
    async () => true,
  );
  const ask = async (
    _method: string,
    _path: string,
    _shape: object,
    { headers, timeoutMs = 0 }: Call = {},
  ) => {
    const request = new Request('http://localhost/api/upload', { headers });
    const id = await repetitions.once(request, '', { fields: {}, files: [] } as never, async () => ++stored);
    passed += timeoutMs;
    if (passed === timeoutMs) throw new AnswerLost('silence');
    return { id };
  };
  expect(await send({ ask } as never, {})).toMatchObject({ id: 1 });
  expect(stored).toBe(1);
});

test('a call that gets no answer in time is broken off, so that nothing is stored of which nobody hears', async () => {
  const server = createServer((socket) => void socket.on('error', () => {}).resume());
  const url = `http://127.0.0.1:${await listening(server)}`;
  const connected = once(server, 'connection') as Promise<[Socket]>;
  const asked = createClient(url, {}).ask('POST', '/', {}, { body: 'half', timeoutMs: 100 });
  const [socket] = await connected;
  const closed = new Promise((resolve) => socket.once('close', resolve));
  await expect(asked).rejects.toThrow('does not respond');
  await closed;
  server.close();
});
