import { AppError } from '../../src/errors.ts';
import { storageFull } from '../../src/lib/storage-full.ts';

/** Returns the code of a system error, such as `ENOENT`; empty for anything else. */
export function systemCode(error: unknown): string {
  const code = error instanceof Error ? (error as { code?: unknown }).code : undefined;
  return typeof code === 'string' && /^E[A-Z0-9]+$/.test(code) ? code : '';
}

/** Runs file operations. A full disk or quota becomes `storage_full`, other system errors `unavailable`. */
export async function translated<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const known = storageFull(error, 'The disk of the image files is full.');
    if (known instanceof AppError || systemCode(error) === '') throw known;
    throw new AppError('unavailable', 'The image files cannot be read or written.', { cause: error });
  }
}

/** Returns the result, or `null` if a file or folder does not exist. */
export async function orNull<T>(work: Promise<T>): Promise<T | null> {
  try {
    return await work;
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return null;
    throw error;
  }
}
