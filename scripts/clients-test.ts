/** See scripts/clients-test. */
import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { createCertificates } from '../test/support/certificates.ts';
import { type ClientRequest, startClientFront } from '../test/support/clients/client-front.ts';
import { run } from '../test/support/run.ts';
import { PNG } from '../test/support/servers/running-server.ts';
import { startServer } from '../test/support/servers/server-process.ts';

const PEERS = resolve('test/clients-peers');
const RECORDINGS = 'test/fixtures/client-requests.json';
const NO_PICTURE = 'The file is not in a known picture format';

const folder = await mkdtemp(join(tmpdir(), 'picpool-clients-'));
const certificates = await createCertificates();
const env = { SERVICES: 'image', RATE_LIMITS: 'off', TRUSTED_PROXIES: 'loopback' };
const server = await startServer('bun', env);
const front = startClientFront(server.url, certificates.good);
const [good, broken, ca] = [join(folder, 'shot.png'), join(folder, 'broken.png'), join(folder, 'ca.pem')];
await Promise.all([writeFile(good, PNG), writeFile(broken, 'no picture'), writeFile(ca, certificates.ca)]);
const recordings: (ClientRequest & { client: string })[] = [];

/** Runs a program of a peer with Node; answers what it printed. */
function node(args: string[]): Promise<string> {
  const env = { PATH: process.env.PATH ?? '', HOME: folder, NODE_EXTRA_CA_CERTS: ca };
  return run(['node', ...args], { cwd: PEERS, env });
}

/** A folder for PicGo, with its plugin, and with the settings that a user makes. */
async function picgoFolder(uploader: string, settings: object): Promise<string> {
  const home = await mkdtemp(join(folder, 'picgo-'));
  await mkdir(home, { recursive: true });
  await symlink(join(PEERS, 'node_modules'), join(home, 'node_modules'));
  const plugin = 'picgo-plugin-lankong';
  await writeFile(join(home, 'package.json'), JSON.stringify({ dependencies: { [plugin]: '*' } }));
  const config = {
    picBed: { current: uploader, uploader, [uploader]: settings },
    picgoPlugins: { [plugin]: true },
  };
  await writeFile(join(home, 'config.json'), JSON.stringify(config));
  return join(home, 'config.json');
}

/** The command line of PicGo, as Typora calls it, with two pictures; and then with what is none. */
async function picgoCommand(uploader: string, settings: object): Promise<void> {
  const config = await picgoFolder(uploader, settings);
  const command = ['node_modules/picgo/bin/picgo', '-c', config, 'upload'];
  const printed = await node([...command, good, good]);
  // Typora takes the last lines.
  const links = printed.split('\n').slice(-2);
  for (const link of links) assert.equal((await load(link)).status, 200, printed);
  assert.match(await node([...command, broken]).catch(String), new RegExp(NO_PICTURE));
}

function load(link: string): Promise<Response> {
  return fetch(link, { tls: { ca: certificates.ca } });
}

/** The window of PicGo, which can also delete. */
async function picgoWindow(uploader: string, settings: object): Promise<void> {
  const printed = await node([join(PEERS, 'picgo.mjs'), await picgoFolder(uploader, settings), good]);
  const { found, left, said } = JSON.parse(printed.split('\n').at(-1) ?? '');
  assert.deepEqual([found, left], [[200], [404]], String(said));
}

async function imgur(host: string): Promise<void> {
  const printed = await node([join(PEERS, 'imgur.mjs'), host, good, broken]);
  const { found, deleted, success, refusal } = JSON.parse(printed.split('\n').at(-1) ?? '');
  assert.deepEqual([found, deleted, success], [[200, 200], [true, true], false]);
  assert.match(refusal, new RegExp(NO_PICTURE));
}

const secureHost = front.https.slice('https://'.length);
const lsky = { token: 'Bearer any', permission: 0, syncDelete: true };
const trials: Record<string, () => Promise<void>> = {
  'PicGo, Lsky Pro 2': () =>
    picgoCommand('lankong', { ...lsky, lskyProVersion: 'V2', server: `${front.http}/lsky` }),
  'PicGo, Lsky Pro 2, deleting': () =>
    picgoWindow('lankong', { ...lsky, lskyProVersion: 'V2', server: `${front.http}/lsky` }),
  'PicGo, Lsky Pro 1': () =>
    picgoCommand('lankong', { ...lsky, lskyProVersion: 'V1', server: `${front.http}/lsky` }),
  'PicGo, Lsky Pro 1 at the root': () =>
    picgoCommand('lankong', { ...lsky, lskyProVersion: 'V1', server: front.http }),
  'PicGo, SM.MS': () => picgoCommand('smms', { token: 'any', backupDomain: `${secureHost}/smms` }),
  imgur: () => imgur(`${secureHost}/imgur`),
  'imgur at the root': () => imgur(secureHost),
};

/** True for a picture that has not come in this way before. */
function isNewUpload({ path, body }: ClientRequest): boolean {
  const sent = Buffer.from(body, 'base64');
  if (!sent.includes(PNG) && !sent.includes(PNG.toBase64())) return false;
  return !recordings.some((known) => known.path === path && known.body.length === body.length);
}

let failed = 0;
for (const [name, trial] of Object.entries(trials)) {
  try {
    await trial();
    console.log(`ok    ${name}`);
  } catch (error) {
    failed++;
    console.log(`FAIL  ${name}: ${error instanceof Error ? error.message : error}`);
  }
  for (const request of front.taken()) {
    if (isNewUpload(request)) recordings.push({ client: name, ...request });
  }
}
if (process.argv.includes('--record'))
  await writeFile(RECORDINGS, `${JSON.stringify(recordings, null, 2)}\n`);
await front.stop();
await server.stop();
await rm(folder, { recursive: true });
process.exit(failed > 0 ? 1 : 0);
