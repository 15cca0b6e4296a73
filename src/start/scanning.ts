import type { Config } from '../config.ts';
import type { Codec } from '../image/codec/codec.ts';
import type { ImageRecord } from '../image/image.ts';
import type { Reviews } from '../image/reviews.ts';
import { createScanner } from '../image/scan.ts';
import { systemClock } from '../lib/clock.ts';
import type { Log } from '../lib/logger.ts';
import { signedHeaders } from '../webhooks/signature.ts';
import { lazySafeFetch } from './lazy-fetch.ts';

interface ScanningOptions {
  config: Config;
  codec: Pick<Codec, 'convert'>;
  reviews: Reviews;
  /** For temporary files. */
  folder: string;
  log: Log;
}

/** Returns the scanner for pictures before they are stored; `null` if `IMAGE_SCAN_URL` is not set. */
export function openScanning({ config, codec, reviews, folder, log }: ScanningOptions) {
  const { IMAGE_SCAN_URL: url, IMAGE_SCAN_SECRET: secret } = config;
  if (url === undefined || secret === undefined) return null;
  const scanner = createScanner({
    url,
    send: config.IMAGE_SCAN_SEND,
    timeoutMs: config.IMAGE_SCAN_TIMEOUT,
    onFailure: config.IMAGE_SCAN_FAILURE,
    // The operator configures it, usually with a private address. No redirect can lead away, because a POST follows
    // none.
    fetch: lazySafeFetch(true),
    sign: (message) => signedHeaders(secret, message),
    codec,
    folder,
    clock: systemClock,
    log,
  });
  return async (image: ImageRecord, path: string, payer: string): Promise<boolean> => {
    if ((await scanner.scan(image, path, payer)) === 'allow') return false;
    await reviews.hold(image, path);
    return true;
  };
}
