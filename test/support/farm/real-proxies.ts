import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { find, startProgram } from '../stores/services.ts';

interface Login {
  user: string;
  password: string;
}

export type RealProxy = Awaited<ReturnType<typeof start>>;

/** HTTP and CONNECT. `address` is one of 127.0.0.0/8. `more`: further lines of its configuration. */
export const startTinyproxy = (
  address: string,
  { login, more = '' }: { login?: Login; more?: string } = {},
) =>
  start(
    address,
    ['tinyproxy', 'tinyproxy-bin'],
    (_port, folder) => ['-d', '-c', join(folder, 'proxy.conf')],
    (port) =>
      `Port ${port}\nListen ${address}\nBind ${address}\nTimeout 20\nMaxClients 200\nAllow 127.0.0.0/8\n${login ? `BasicAuth ${login.user} ${login.password}\n` : ''}${more}`,
  );

/** SOCKS5. */
export const startMicrosocks = (address: string, login?: Login) =>
  start(address, ['microsocks', 'microsocks'], (port) => [
    ...['-i', address, '-p', `${port}`, '-b', address],
    ...(login ? ['-u', login.user, '-P', login.password] : []),
  ]);

/** SOCKS4 and SOCKS5 without a password. */
export const startDante = (address: string) =>
  start(
    address,
    ['danted', 'dante-server'],
    (_port, folder) => ['-f', join(folder, 'proxy.conf'), '-p', join(folder, 'danted.pid'), '-N', '1'],
    (port) => `logoutput: stderr
internal: ${address} port = ${port}
external: ${address}
clientmethod: none
socksmethod: none
client pass { from: 127.0.0.0/8 to: 0.0.0.0/0 }
socks pass { from: 127.0.0.0/8 to: 0.0.0.0/0 }
`,
  );

/** `config`: what stands in `proxy.conf` of the folder. */
async function start(
  address: string,
  [command, debianPackage]: [command: string, debianPackage: string],
  args: (port: number, folder: string) => string[],
  config = (_port: number) => '',
) {
  const program = await find(command, `Debian's package ${debianPackage}`);
  return startProgram((port, folder) => [program, ...args(port, folder)], {
    prepare: (folder, port) => writeFile(join(folder, 'proxy.conf'), config(port)),
    endWith: 'SIGTERM',
    host: address,
  });
}
