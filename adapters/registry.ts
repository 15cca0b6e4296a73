import { AppError } from '../src/errors.ts';
import type { Adapter, FilesAdapter, RecordsAdapter } from './adapter.ts';
import { filesystem } from './filesystem/adapter.ts';
import { postgres } from './postgres/adapter.ts';
import { redis } from './redis/adapter.ts';
import { s3 } from './s3/adapter.ts';
import { sqlite } from './sqlite/adapter.ts';

/** Every adapter there is. A new one is a folder and a line here: settings, start and commands know it from then on. */
const RECORDS: readonly RecordsAdapter[] = [sqlite, redis, postgres];
const FILES: readonly FilesAdapter[] = [filesystem, s3];

const schemesOf = (adapters: readonly Adapter<unknown>[]) => adapters.flatMap(({ schemes }) => schemes);

/** How `METADATA_URL` may begin. */
export const RECORD_SCHEMES = schemesOf(RECORDS);
/** How `METADATA_READ_URL` may begin. */
export const READ_SCHEMES = schemesOf(RECORDS.filter(({ readsElsewhere }) => readsElsewhere));
/** How `LIMITS_URL` may begin. */
export const LIMIT_SCHEMES = schemesOf(RECORDS.filter(({ openLimiter }) => openLimiter !== undefined));
/** How `BLOBS_URL` may begin. */
export const FILE_SCHEMES = schemesOf(FILES);

/**
 * The adapter for records at the URL.
 * @throws {AppError} `unavailable` if there is none.
 */
export function recordsAdapter(url: string): RecordsAdapter {
  return find(RECORDS, url);
}

/**
 * The adapter for image files at the URL.
 * @throws {AppError} `unavailable` if there is none.
 */
export function filesAdapter(url: string): FilesAdapter {
  return find(FILES, url);
}

/**
 * The adapter for what the URL names, be it records or files.
 * @throws {AppError} `unavailable` if there is none.
 */
export function adapterOf(url: string): Adapter<unknown> {
  return find<Adapter<unknown>>([...RECORDS, ...FILES], url);
}

function find<Kind extends Adapter<unknown>>(adapters: readonly Kind[], url: string): Kind {
  const found = adapters.find(({ schemes }) => schemes.some((scheme) => url.startsWith(scheme)));
  if (!found) throw new AppError('unavailable', `No adapter opens ${new URL(url).protocol} URLs.`);
  return found;
}
