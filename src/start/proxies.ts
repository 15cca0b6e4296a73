import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { networkInterfaces } from 'node:os';
import type { Config } from '../config.ts';
import { ConfigError } from '../errors.ts';
import { createChecker } from '../proxy/check/checker.ts';
import { BUILT_IN_JUDGES } from '../proxy/check/judge.ts';
import { openCountries } from '../proxy/country.ts';
import { statsAnswer } from '../proxy/descriptions.ts';
import { proxyRoutes } from '../proxy/routes.ts';
import { createProxyService } from '../proxy/service.ts';
import { loadSources } from '../proxy/sources/load.ts';
import { createSourceReader } from '../proxy/sources/read.ts';
import { systemClock } from '../shared/clock.ts';
import { affordableSockets } from '../shared/open-files.ts';
import type { SafeFetch } from '../shared/safe-fetch.ts';
import type { Parts, RunningFeature } from './feature.ts';

/** Puts the proxy pool together. */
export async function startProxies({ config, stores, contextOf, log }: Parts): Promise<RunningFeature> {
  const allowPrivate = config.PROXY_ALLOW_PRIVATE;
  const basePath = config.PROXY_BASE_PATH;
  const secret = await stores.state.getOrSet('judge-secret', randomBytes(32).toString('base64url'));
  const ca = await readAuthority(config.PROXY_JUDGE_CA);
  const checker = createChecker({
    judges: judgesOf(config),
    ...(ca !== undefined && { ca }),
    timeoutMs: config.PROXY_CHECK_TIMEOUT,
    allowPrivate,
    ownAddresses: ownAddresses(),
    secret,
    now: Date.now,
    randomToken: () => randomBytes(16).toString('base64url'),
    log,
  });
  const countryOf = await openCountries(config.PROXY_COUNTRY_DB);
  const service = createProxyService({
    store: stores.proxies,
    state: stores.state,
    locks: stores.locks,
    checker,
    readSource: createSourceReader({ fetch: lazySafeFetch(allowPrivate), allowPrivate }),
    sources: await loadSources(config.PROXY_SOURCES, (path) => readFile(path, 'utf8')),
    countryOf,
    clock: systemClock,
    random: Math.random,
    log,
    refreshIntervalMs: config.PROXY_REFRESH_INTERVAL,
    refreshOnStart: config.PROXY_REFRESH_ON_START,
    refreshBudgetMs: config.PROXY_REFRESH_BUDGET,
    concurrency: await affordableSockets(config.PROXY_CHECK_CONCURRENCY),
    deadRetentionMs: config.PROXY_DEAD_RETENTION,
    maxPool: config.PROXY_MAX_POOL,
  });
  return {
    name: 'Proxy pool',
    basePath,
    routes: proxyRoutes({
      service,
      contextOf,
      adminRequired: config.ADMIN_TOKEN !== undefined,
      judgeSecret: secret,
    }),
    stats: service.stats,
    statsAnswer,
    cached: { paths: ['/api/v1/proxies', '/api/filters'], version: service.version },
    begin: service.start,
    async stop() {
      await service.stop();
      checker.close();
    },
  };
}

/** A start should not wait for the HTTP client, which the first refresh needs. */
function lazySafeFetch(allowPrivate: boolean): SafeFetch {
  let made: Promise<SafeFetch> | undefined;
  return async (url, options) => {
    made ??= import('../shared/safe-fetch.ts').then((module) => module.createSafeFetch({ allowPrivate }));
    return (await made)(url, options);
  };
}

/** The server is its own judge where it knows under which URL the proxies can reach it. */
function judgesOf({ PROXY_JUDGES, PUBLIC_URL, PROXY_BASE_PATH }: Config): readonly string[] {
  if (PROXY_JUDGES) return PROXY_JUDGES;
  return PUBLIC_URL ? [`${PUBLIC_URL}${PROXY_BASE_PATH}/api/judge`, ...BUILT_IN_JUDGES] : BUILT_IN_JUDGES;
}

async function readAuthority(path: string | undefined): Promise<string | undefined> {
  if (path === undefined) return undefined;
  return readFile(path, 'utf8').catch(() => {
    throw new ConfigError([
      { variable: 'PROXY_JUDGE_CA', message: `names a file that cannot be read: ${path}` },
    ]);
  });
}

function ownAddresses(): string[] {
  return Object.values(networkInterfaces()).flatMap((addresses = []) =>
    addresses.map(({ address }) => address),
  );
}
