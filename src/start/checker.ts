import { randomUUID, X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { networkInterfaces } from 'node:os';
import type { Config } from '../config.ts';
import { unreadable } from '../errors.ts';
import type { Log } from '../lib/logger.ts';
import { BUILT_IN_JUDGE_RATE, BUILT_IN_JUDGES, BUILT_IN_WITNESSES } from '../proxy/check/built-in.ts';
import { type Checker, createChecker } from '../proxy/check/checker.ts';

/**
 * Opens the checker of the configuration. `secrets`: those with which our own judge proves its answers.
 * @throws {ConfigError} if the file of the authority cannot be read.
 */
export async function openChecker(
  config: Config,
  log: Log,
  secrets?: () => readonly string[],
): Promise<Checker> {
  const ca = await readAuthority(config.PROXY_JUDGE_CA);
  return createChecker({
    judges: judgesOf(config),
    witnesses: config.PROXY_WITNESSES ?? BUILT_IN_WITNESSES,
    maxPerSecond: config.PROXY_JUDGES ? undefined : BUILT_IN_JUDGE_RATE,
    ...(ca !== undefined && { ca }),
    timeoutMs: config.PROXY_CHECK_TIMEOUT,
    allowPrivate: config.PROXY_ALLOW_PRIVATE,
    ownAddresses: ownAddresses(),
    ...(secrets && { secrets }),
    now: Date.now,
    randomToken: randomUUID,
    log,
  });
}

/** The server is its own judge if it knows the URL under which proxies can reach it. */
function judgesOf({ PROXY_JUDGES, PUBLIC_URL, PROXY_BASE_PATH }: Config): readonly string[] {
  if (PROXY_JUDGES) return PROXY_JUDGES;
  return PUBLIC_URL ? [`${PUBLIC_URL}${PROXY_BASE_PATH}/api/judge`, ...BUILT_IN_JUDGES] : BUILT_IN_JUDGES;
}

/** Returns the text of the file; `undefined` without a path. Rejects with a `ConfigError` if it is not a certificate. */
export async function readAuthority(path: string | undefined): Promise<string | undefined> {
  if (path === undefined) return undefined;
  // Deno takes the first entry for the certificate, even if it is the key.
  const ca = readFile(path, 'utf8');
  await ca
    .then((text) => new X509Certificate(text.replace(/^.*?(?<=\n)(?=-----BEGIN CERTIFICATE-)/s, '')))
    .catch(unreadable('PROXY_JUDGE_CA', path, 'a certificate (PEM)'));
  return ca;
}

/** Returns the addresses of this machine. */
export function ownAddresses(): string[] {
  return Object.values(networkInterfaces()).flatMap((addresses = []) =>
    addresses.map(({ address }) => address),
  );
}
