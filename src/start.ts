import { openStores, requireStoreUrls } from '../adapters/open.ts';
import { recordsAdapter } from '../adapters/registry.ts';
import { type App, type AppOptions, createApp } from './app.ts';
import { auditRoutes } from './audit/routes.ts';
import type { Config, Environment } from './config.ts';
import { AppError } from './errors.ts';
import { warn } from './findings/finding.ts';
import { answering, explained } from './findings/readiness.ts';
import { auditLogFindings } from './findings/settings.ts';
import { logDurability } from './findings/stores.ts';
import { createClients } from './http/client/clients.ts';
import { createProxyTrust } from './http/client/proxy-trust.ts';
import { createContexts } from './http/context.ts';
import { createCors } from './http/cors.ts';
import { createInFlight, createPatience } from './http/limits.ts';
import { describeFindings } from './http/system-routes.ts';
import { systemClock } from './lib/clock.ts';
import { forbidDumps } from './lib/linux/process.ts';
import type { Log } from './lib/logger.ts';
import { lowFileLimit } from './lib/open-files.ts';
import { removeMarks } from './lib/state.ts';
import { adminRoutes } from './moderation/routes.ts';
import type { Runtime } from './runtime/runtime.ts';
import { openAdmin } from './start/admin.ts';
import { credentialsOf } from './start/credentials.ts';
import { openDataFolder, temporaryFolder } from './start/data-folder.ts';
import { createShutdown, type Parts, type RunningFeature } from './start/feature.ts';
import { listen, socketPath } from './start/listen.ts';
import { startMcp } from './start/mcp.ts';
import { type Operations, startOperations } from './start/operations.ts';
import { findSharedPeers } from './start/shared-peers.ts';
import { type House, type RunningServer, whenStoresAnswer } from './start/waiting.ts';
import { openContact, openWeb } from './start/web.ts';
import { VERSION } from './version.ts';

const FORBIDDEN = 'permissions are missing: free space, memory or priorities are not taken into account';

/**
 * Starts the server from its configuration: stores, services, application, listener. If a part fails, closes
 * everything and rejects. If the records are on another machine that does not respond, the server listens, tells all
 * clients so, and is completed when the store answers.
 */
export async function start(
  runtime: Runtime,
  config: Config,
  log: Log,
  env: Environment = {},
): Promise<RunningServer> {
  const system = await runtime.system();
  // Otherwise a process of the same user could read keys and tokens in the memory and the environment.
  if (system) forbidDumps(system);
  if (runtime.forbidden?.length) log('warn', FORBIDDEN, { permissions: runtime.forbidden });
  const files = await lowFileLimit();
  if (files !== null) {
    log('warn', 'the limit of open files is low: raise it to 65536 (ulimit -n, LimitNOFILE=)', {
      limit: files,
    });
  }
  await openDataFolder(config, log);
  const mayWait = recordsAdapter(config.METADATA_URL).shared;
  return whenStoresAnswer({
    open: () => openHouse({ runtime, config, log, env }),
    listen: (handle) => listen(runtime, handle, config),
    isAway: (error) => mayWait && isPassing(error),
    clock: systemClock,
    log,
  });
}

/** Reports whether a retry may succeed. Stores report lasting faults differently. */
function isPassing(error: unknown): boolean {
  return error instanceof AppError && error.code === 'unavailable' && error.retryAfterMs !== undefined;
}

type Foundation = Pick<Parts, 'runtime' | 'config' | 'log' | 'env'>;

/** Opens the stores and creates the services. If that fails, closes everything and rejects. */
async function openHouse({ runtime, config, log, env }: Foundation): Promise<House> {
  const access = { runtime, credentials: credentialsOf(config), folder: temporaryFolder(config), log };
  const { METADATA_URL, METADATA_READ_URL, BLOBS_URL, LIMITS_URL } = config;
  await requireStoreUrls({ METADATA_URL, METADATA_READ_URL, BLOBS_URL, LIMITS_URL });
  const opened = await openStores(METADATA_URL, BLOBS_URL, {
    ...access,
    readUrl: METADATA_READ_URL,
    limitsUrl: LIMITS_URL,
  });
  const stopping = new AbortController();
  const features: RunningFeature[] = [];
  const abandon = async () => {
    await Promise.all(features.map((feature) => feature.stop()));
    await opened.close();
  };
  const shutdown = createShutdown({ delayMs: config.SHUTDOWN_DELAY, graceMs: config.SHUTDOWN_GRACE });
  try {
    const sharedPeers = await findSharedPeers(config.HOST, env);
    const isExit = (address: string) => features.some((feature) => feature.isExit?.(address));
    const clients = createClients({
      trust: createProxyTrust(config.TRUSTED_PROXIES ?? [], socketPath(config.HOST) !== null),
      hops: config.TRUSTED_HOPS,
      isShared: (address) => sharedPeers.has(address) || isExit(address),
      log,
      now: () => performance.now(),
    });
    const contexts = createContexts({
      clients,
      publicUrl: config.PUBLIC_URL,
      adminToken: config.ADMIN_TOKEN,
    });
    const web = await openWeb(config);
    await removeMarks(opened.state, log).catch((cause) => log('warn', 'marks of commands remain', { cause }));
    const operations = await startOperations(config, opened, log);
    const { stores, blocks, audit, metrics, holders, now } = operations;
    const parts = { web, runtime, config, env, stores, log, operations };
    if (config.SERVICES.includes('proxy')) {
      features.push(await (await import('./start/proxies.ts')).startProxies(parts));
    }
    if (config.SERVICES.includes('image')) {
      features.push(await (await import('./start/images.ts')).startImages(parts));
    }
    const handle: App['handle'] = (request, peerOf) => app.handle(request, peerOf);
    const contact = await openContact(config, web);
    const mcp = await startMcp(config, { log, handle });
    const health = [
      shutdown.source,
      ...(opened.askLimits
        ? [answering('LIMITS_URL does not answer: each copy limits on its own.', opened.askLimits)]
        : []),
      ...features.flatMap(({ health }) => health.map((source) => explained(source, log))),
      answering('Acts are not finished, or AUDIT_LOG does not take them.', audit.demandFinished),
      { silence: warn('AUDIT_LOG is not known.'), look: () => auditLogFindings(config) },
      { silence: warn('How requests arrive is not known.'), look: clients.findings },
    ];
    describeFindings(metrics, health);
    const admin = openAdmin({ config, operations, features, health, web });
    const app: App = createApp({
      version: VERSION,
      web,
      features,
      contexts,
      ...restraint(operations),
      health,
      publicUrl: config.PUBLIC_URL,
      allowedHosts: config.ALLOWED_HOSTS,
      log,
      now,
      metrics: { registry: metrics, token: config.METRICS_TOKEN },
      cors: config.CORS_ORIGINS && createCors(config.CORS_ORIGINS),
      holders,
      uploadNeedsToken: config.UPLOAD === 'token',
      routes: [...adminRoutes(blocks, audit), ...auditRoutes(audit), ...admin, ...contact, ...mcp],
      mayWrite: blocks.mayWrite,
    });
    return {
      handle: app.handle,
      addresses: Object.assign({}, ...features.map((feature) => feature.addresses ?? {})),
      sandbox: () => features.find((feature) => feature.sandbox)?.sandbox?.() ?? null,
      begin() {
        for (const feature of features) feature.begin();
        audit.start();
        void auditLogFindings(config).then(([found]) => found && log('warn', found.text));
        void logDurability({ ...access, config, clock: systemClock }, stopping.signal);
      },
      stop(server) {
        stopping.abort();
        return shutdown.run(server, features, operations);
      },
      abandon,
    };
  } catch (error) {
    await abandon();
    throw error;
  }
}

/** Creates the limits that keep one client from using up the server. */
function restraint({ limits, now }: Operations): Pick<AppOptions, 'limits' | 'inFlight' | 'patience'> {
  if (!limits) return { limits };
  return {
    limits,
    inFlight: createInFlight(),
    patience: createPatience({ sleep: systemClock.sleep, now, random: Math.random }),
  };
}
