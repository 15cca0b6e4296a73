import { constants } from 'node:fs';
import { access, statfs } from 'node:fs/promises';
import { createServer } from 'node:net';
import { dirname, resolve } from 'node:path';
import { affordableSockets, lowFileLimit } from '../lib/open-files.ts';
import { readableBytes } from '../lib/readable-bytes.ts';
import { socketPath } from '../start/listen.ts';
import type { Finding, Patient } from './doctor-finding.ts';
import { formatCount } from './format.ts';

/** Checks that the server could listen on its port. */
export async function checkPort({ config: { HOST, PORT } }: Patient): Promise<Finding[]> {
  const path = socketPath(HOST);
  if (path !== null) return checkSocket(path);
  const server = createServer();
  const code = await new Promise<string | null>((done) => {
    server.once('error', (error: NodeJS.ErrnoException) => done(error.code ?? error.message));
    server.listen(PORT, HOST, () => server.close(() => done(null)));
  });
  if (code === null) return [{ state: 'ok', text: `${HOST} port ${PORT} is free` }];
  if (code === 'EADDRINUSE') {
    const advice =
      'Fine if that is picpool itself, which picpool health shows. Otherwise, choose another PORT.';
    return [{ state: 'warn', text: `${HOST} port ${PORT} is taken`, advice }];
  }
  const advice =
    code === 'EACCES'
      ? 'Ports below 1024 are reserved for root; choose a higher PORT.'
      : 'Set HOST to an address of this machine.';
  return [{ state: 'fail', text: `cannot listen on ${HOST} port ${PORT} (${code})`, advice }];
}

async function checkSocket(path: string): Promise<Finding[]> {
  if (await mayBeMade(dirname(path))) return [{ state: 'ok', text: `a socket can be created at ${path}` }];
  return [
    {
      state: 'fail',
      text: `${dirname(path)} is not writable`,
      advice: "Make the server's user its owner.",
    },
  ];
}

/** Checks that the data folder is writable, and how much space is left. */
export async function checkFolder({ config }: Patient): Promise<Finding[]> {
  const folder = resolve(config.DATA_DIR);
  const standing = await nearestStanding(folder);
  if (!(await mayBeMade(folder))) {
    const advice = "Make the server's user its owner (chown), or set DATA_DIR to another folder.";
    return [{ state: 'fail', text: `${standing} is not writable`, advice }];
  }
  const { bavail, bsize } = await statfs(standing);
  const free = bavail * bsize;
  const text = `${folder}${standing === folder ? '' : ' (created at the first start)'}, ${readableBytes(free)} free`;
  if (!config.SERVICES.includes('image') || free >= config.IMAGE_MIN_FREE) return [{ state: 'ok', text }];
  const advice = `Uploads are refused below IMAGE_MIN_FREE (${readableBytes(config.IMAGE_MIN_FREE)}); free some space.`;
  return [{ state: 'fail', text, advice }];
}

/** Reports whether a missing folder could be created. */
export async function mayBeMade(folder: string): Promise<boolean> {
  return access(await nearestStanding(folder), constants.W_OK | constants.X_OK).then(
    () => true,
    () => false,
  );
}

async function nearestStanding(folder: string): Promise<string> {
  const stands = await access(folder).then(
    () => true,
    () => false,
  );
  return stands || folder === dirname(folder) ? folder : nearestStanding(dirname(folder));
}

/** Checks that as many checks as configured can run at once. */
export async function checkOpenFiles({ config }: Patient): Promise<Finding[]> {
  const low = await lowFileLimit();
  if (low !== null) {
    const advice = 'Allow 65536 (ulimit -n, LimitNOFILE=): a few hundred idle connections take the rest.';
    return [{ state: 'warn', text: `only ${formatCount(low)} files and sockets at once`, advice }];
  }
  const wanted = config.PROXY_CHECK_CONCURRENCY;
  const possible = await affordableSockets(wanted);
  const text = `${formatCount(possible)} of ${formatCount(wanted)} checks at once`;
  if (possible === wanted) return [{ state: 'ok', text }];
  const advice = `Allow twice that and 200 (ulimit -n, LimitNOFILE=), or lower PROXY_CHECK_CONCURRENCY.`;
  return [{ state: 'warn', text: `only ${text}`, advice }];
}
