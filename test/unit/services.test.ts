import { expect, test } from 'bun:test';
import { existsSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { startServer } from '../support/servers/server-process.ts';
import { command, find, startProgram } from '../support/stores/services.ts';

test('a program whose port another takes first is started on another, and nobody else is taken for it', async () => {
  const redis = await find('redis-server', "Debian's package redis-server");
  const others: Server[] = [];
  const ports: number[] = [];
  const service = await startProgram(
    (port) => [redis, '--port', `${port}`, '--bind', '127.0.0.1', '--save', ''],
    {
      async prepare(_, port) {
        ports.push(port);
        if (others.length === 2) return;
        const other = createServer((socket) => socket.end('-not yours\r\n'));
        others.push(other);
        await new Promise<void>((resolve) => other.listen(port, '127.0.0.1', resolve));
      },
    },
  );
  expect(service.port).toBe(ports[2] ?? 0);
  expect(await command(service.port, 'PING')).toBe('+PONG\r\n');
  await service.stop();
  for (const other of others) other.close();
});

test('a program that does not become ready is ended, and leaves no folder', async () => {
  const redis = await find('redis-server', "Debian's package redis-server");
  const started = { folder: '', port: 0 };
  const starting = startProgram((port) => [redis, '--port', `${port}`, '--bind', '127.0.0.1', '--save', ''], {
    prepare: async (folder, port) => Object.assign(started, { folder, port }),
    ready: () => Promise.reject(new Error('not ready')),
  });
  await expect(starting).rejects.toThrow('not ready');
  await expect(command(started.port, 'PING')).rejects.toThrow();
  expect(existsSync(started.folder)).toBe(false);
});

test('a server that does not start leaves no folder', async () => {
  const fault = await startServer(['sh', '-c', 'echo "$DATA_DIR" >&2']).catch(String);
  const [folder = ''] = /\S+picpool-e2e-\S+/.exec(String(fault)) ?? [];
  expect([folder === '', existsSync(folder)]).toEqual([false, false]);
});
