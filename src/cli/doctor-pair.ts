import { openStores, type Stores } from '../../adapters/open.ts';
import { filesAdapter, recordsAdapter } from '../../adapters/registry.ts';
import { createDoubts } from '../image/maintenance/doubts.ts';
import { IDENTITY_STATE, readMark } from '../image/maintenance/store-identity.ts';
import { within } from '../lib/deadline.ts';
import { credentialsOf } from '../start/credentials.ts';
import type { Finding, Patient } from './doctor-finding.ts';
import { missingPath } from './doctor-stores.ts';

const LIMIT_MS = 15_000;
/** Ten million records on Postgres take seconds to count, and a cold disk makes that minutes. */
const COMPARE_LIMIT_MS = 120_000;

const ADVICE =
  'Until this is fixed, no file is removed. Restore what was lost; if nothing is missing, picpool sweep says what to do.';

/**
 * Checks that records and files belong together. Before the first start there is nothing to compare, and stores that
 * cannot be opened were reported before.
 */
export async function checkPair({ config, runtime }: Patient): Promise<Finding[]> {
  const { METADATA_URL, BLOBS_URL } = config;
  const paths = [recordsAdapter(METADATA_URL).path(METADATA_URL), filesAdapter(BLOBS_URL).path(BLOBS_URL)];
  const missing = await Promise.all(paths.map(missingPath));
  if (missing.some((path) => path !== null)) return [];
  const access = { runtime, credentials: credentialsOf(config) };
  const stores = await within(LIMIT_MS, openStores(METADATA_URL, BLOBS_URL, access)).catch(() => null);
  if (stores === null) return [];
  return within(COMPARE_LIMIT_MS, compare(stores)).finally(() => stores.close());
}

async function compare(stores: Stores): Promise<Finding[]> {
  const marks = [await stores.state.get(IDENTITY_STATE), await readMark(stores.blobs)];
  const { images } = await stores.images.summary();
  if (images === 0 && marks.every((mark) => mark === null)) return [];
  const reasons = await createDoubts({ ...stores, now: Date.now, log: () => {} }).look();
  if (reasons.length === 0) return [{ state: 'ok', text: 'they belong together' }];
  return reasons.map((text) => ({ state: 'fail', text, advice: ADVICE }));
}
