import { AppError, inEnglish } from '../src/errors.ts';
import type { Adapter, FilesAdapter, RecordsAdapter } from './adapter.ts';
import { filesystem } from './filesystem/adapter.ts';
import { postgres } from './postgres/adapter.ts';
import { redis } from './redis/adapter.ts';
import { s3 } from './s3/adapter.ts';
import { sqlite } from './sqlite/adapter.ts';

/** All adapters. A new one needs a folder and a line here; settings, start and commands then support it. */
const RECORDS: readonly RecordsAdapter[] = [sqlite, redis, postgres];
const FILES: readonly FilesAdapter[] = [filesystem, s3];

const schemesOf = (adapters: readonly Adapter<unknown>[]) => adapters.flatMap(({ schemes }) => schemes);

/** Schemes of `METADATA_URL`. */
export const RECORD_SCHEMES = schemesOf(RECORDS);
/** Schemes of `METADATA_READ_URL`. */
export const READ_SCHEMES = schemesOf(RECORDS.filter(({ readsElsewhere }) => readsElsewhere));
/** Schemes of `LIMITS_URL`. */
export const LIMIT_SCHEMES = schemesOf(RECORDS.filter(({ openLimiter }) => openLimiter !== undefined));
/** Schemes of `BLOBS_URL`. */
export const FILE_SCHEMES = schemesOf(FILES);

/**
 * Returns the adapter for records at the URL.
 * @throws {AppError} `unavailable` if there is none.
 */
export function recordsAdapter(url: string): RecordsAdapter {
  return find(RECORDS, url);
}

/**
 * Returns the adapter for image files at the URL.
 * @throws {AppError} `unavailable` if there is none.
 */
export function filesAdapter(url: string): FilesAdapter {
  return find(FILES, url);
}

/**
 * Returns the adapter for the URL, whether of records or files.
 * @throws {AppError} `unavailable` if there is none.
 */
export function adapterOf(url: string): Adapter<unknown> {
  return find<Adapter<unknown>>([...RECORDS, ...FILES], url);
}

function find<Kind extends Adapter<unknown>>(adapters: readonly Kind[], url: string): Kind {
  const found = adapters.find(({ schemes }) => schemes.some((scheme) => url.startsWith(scheme)));
  if (!found) throw new AppError('unavailable', inEnglish(`No adapter opens ${new URL(url).protocol} URLs.`));
  return found;
}
