import { test } from 'node:test';
import { createSqliteAlbums } from '../../adapters/sqlite/albums.ts';
import { createSqliteAudit } from '../../adapters/sqlite/audit.ts';
import { openDatabase } from '../../adapters/sqlite/database.ts';
import { createSqliteImages } from '../../adapters/sqlite/images.ts';
import { createSqliteProxies } from '../../adapters/sqlite/proxies.ts';
import { createSqliteState } from '../../adapters/sqlite/state.ts';
import { denoRuntime } from '../../src/runtime/deno.ts';
import { sqliteFileTests } from '../adapters/sqlite-file.suite.ts';
import { sqliteUpgradeTests } from '../adapters/sqlite-upgrade.suite.ts';
import { albumStoreConformance } from '../conformance/album-store.ts';
import { auditStoreConformance } from '../conformance/audit-store.ts';
import { blobStoreConformance } from '../conformance/blob-store.ts';
import { imageStoreConformance } from '../conformance/image-store.ts';
import { locksConformance } from '../conformance/locks.ts';
import { proxyStoreConformance } from '../conformance/proxy-store.ts';
import { rateLimiterConformance } from '../conformance/rate-limiter.ts';
import { stateStoreConformance } from '../conformance/state-store.ts';
import { folderOpener, openLocalLimiter, openLocalLocks } from '../support/stores/local.ts';
import { sqliteOpener } from '../support/stores/sqlite.ts';

const opener = sqliteOpener((path) => openDatabase(denoRuntime.openSqlite, path));

proxyStoreConformance(
  test,
  opener((database) => createSqliteProxies(database)),
);
imageStoreConformance(
  test,
  opener((database) => createSqliteImages(database)),
);
albumStoreConformance(test, opener(createSqliteAlbums));
auditStoreConformance(test, opener(createSqliteAudit));
stateStoreConformance(test, opener(createSqliteState));
blobStoreConformance(test, folderOpener(denoRuntime.fileBody));
locksConformance(test, openLocalLocks);
rateLimiterConformance(test, openLocalLimiter);
sqliteFileTests(test, denoRuntime, ['run', '-A', '--no-check']);
sqliteUpgradeTests(test, denoRuntime.openSqlite, ['run', '-A', '--no-check']);
