import { randomUUID } from 'node:crypto';
import { open } from 'node:fs/promises';
import type { RecordStores } from '../../adapters/adapter.ts';
import { type Audit, createAudit } from '../audit/audit.ts';
import type { Config } from '../config.ts';
import { AppError, inEnglish } from '../errors.ts';
import { systemClock } from '../lib/clock.ts';
import { createHiding, type Log } from '../lib/logger.ts';
import { lazySafeFetch } from './lazy-fetch.ts';

/** Time limit for one line, in ms. */
const TELL_MS = 5000;
const DAY_MS = 86_400_000;

/** Opens the log of acts that the settings describe. */
export function openAudit(
  config: Pick<Config, 'AUDIT_LOG' | 'AUDIT_RETENTION' | 'LOG_ADDRESSES'>,
  { audit, state, locks }: Pick<RecordStores, 'audit' | 'state' | 'locks'>,
  log: Log,
): Audit {
  const { AUDIT_LOG: place } = config;
  return createAudit({
    ...{ audit, state, locks, log },
    keepDays: Math.ceil(config.AUDIT_RETENTION / DAY_MS),
    clock: systemClock,
    newId: randomUUID,
    hide: createHiding(config.LOG_ADDRESSES),
    tell: place === undefined ? undefined : /^https?:/.test(place) ? posting(place) : appending(place),
  });
}

/** Appends lines to a file, each on disk before it counts. */
function appending(path: string) {
  return async (line: string): Promise<void> => {
    const file = await open(path, 'a+', 0o600);
    try {
      const { size } = await file.stat();
      // A full disk, or a crash, may have cut the line before.
      const { buffer } = await file.read(Buffer.alloc(1), 0, 1, Math.max(0, size - 1));
      await file.appendFile(size > 0 && buffer.toString() !== '\n' ? `\n${line}\n` : `${line}\n`);
      await file.sync();
    } finally {
      await file.close();
    }
  };
}

/** Posts each line to a URL of the operator. */
function posting(url: string) {
  const fetch = lazySafeFetch(true);
  return async (line: string): Promise<void> => {
    const { status, discard } = await fetch(url, {
      headers: { 'content-type': 'application/json' },
      body: line,
      timeoutMs: TELL_MS,
      maxBytes: 64 * 1024,
    });
    discard();
    if (status >= 300) throw new AppError('unavailable', inEnglish(`AUDIT_LOG answered ${status}.`));
  };
}
