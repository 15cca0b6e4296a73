import { randomUUID } from 'node:crypto';
import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { type Static, Type } from '@sinclair/typebox';
import { Value } from '@sinclair/typebox/value';
import type { Codec } from '../../codec/codec.ts';
import { MEDIA_TYPES } from '../../codec/format.ts';
import { AppError, inEnglish } from '../../errors.ts';
import type { Clock } from '../../lib/clock.ts';
import { MAX_JSON_LENGTH, parseForeignJson } from '../../lib/foreign-json.ts';
import type { Log } from '../../lib/logger.ts';
import type { SafeFetch } from '../../lib/safe-fetch.ts';
import { SafeFetchError } from '../../lib/safe-fetch-errors.ts';
import { createSemaphore } from '../../lib/semaphore.ts';
import { addressOf } from '../access/deletion-rights.ts';
import type { ImageRecord } from '../image.ts';

/** What happens to a picture that may be stored: `allow` shows it, `review` waits for the administrator. */
type Verdict = 'allow' | 'review';

interface ScannerOptions {
  url: string;
  /**
   * What is sent in addition to facts and SHA-256: nothing, the perceptual hash, a JPEG of at most 512 pixels, or the
   * picture as it will be stored.
   */
  send: 'hash' | 'look' | 'preview' | 'file';
  timeoutMs: number;
  /** What to do if the service does not answer. */
  onFailure: 'refuse' | 'allow';
  fetch: SafeFetch;
  /** Returns the headers that authenticate the request; see `webhooks/signature.ts`. */
  sign(message: { id: string; timeMs: number; body: string }): Record<string, string>;
  codec: Pick<Codec, 'convert'>;
  /** For temporary files. */
  folder: string;
  clock: Pick<Clock, 'now'>;
  log: Log;
}

const PREVIEW_SIDE = 512;
/** Maximum number of pictures in memory at once for sending. */
const AT_ONCE = 4;
const MAX_WAITING = 200;

const scanAnswer = Type.Object({
  verdict: Type.Union([Type.Literal('allow'), Type.Literal('block'), Type.Literal('review')]),
});

/** Asks the operator's own service about a picture before it is stored. */
export function createScanner(options: ScannerOptions) {
  const { url, send, timeoutMs, onFailure, fetch, sign, codec, folder, clock, log } = options;
  const inTurn = createSemaphore(AT_ONCE, {
    maxWaiting: MAX_WAITING,
    message: inEnglish('Too many pictures are waiting to be scanned.'),
  });

  /** When the last request was sent that timed out, and when the last answer came. */
  let [unansweredAt, answeredAt] = [0, 0];

  async function preview(path: string, client: string): Promise<Buffer> {
    const output = join(folder, `scan-${randomUUID()}`);
    try {
      const box = { maxWidth: PREVIEW_SIDE, maxHeight: PREVIEW_SIDE };
      await codec.convert(
        { input: path, output, format: 'jpeg', stripExif: true, ...box },
        { client, purpose: 'version' },
      );
      return await readFile(output);
    } finally {
      await rm(output, { force: true });
    }
  }

  async function pictureOf(image: ImageRecord, path: string, payer: string): Promise<object> {
    if (send === 'hash') return {};
    if (send === 'look') return { phash: image.phash };
    const bytes = send === 'file' ? await readFile(path) : await preview(path, payer);
    const mediaType = send === 'file' ? MEDIA_TYPES[image.format] : MEDIA_TYPES.jpeg;
    return { picture: { media_type: mediaType, base64: bytes.toString('base64') } };
  }

  async function ask(data: object): Promise<Static<typeof scanAnswer>> {
    const id = randomUUID();
    const timeMs = clock.now();
    const body = JSON.stringify({ id, type: 'image.scan', timestamp: new Date(timeMs).toISOString(), data });
    const headers = sign({ id, timeMs, body });
    const limits = { timeoutMs, maxBytes: MAX_JSON_LENGTH };
    const sentAt = performance.now();
    const exchange = async () => {
      const answer = await fetch(url, { headers, body, ...limits });
      const text = Buffer.concat(await Array.fromAsync(answer.body)).toString('utf8');
      return { status: answer.status, text };
    };
    const { status, text } = await exchange().catch((error) => {
      if (error instanceof SafeFetchError && error.kind === 'timeout') unansweredAt = sentAt;
      throw error;
    });
    answeredAt = performance.now();
    if (status !== 200) throw new Error(`answered ${status}`);
    const answer: unknown = parseForeignJson(text);
    if (!Value.Check(scanAnswer, answer)) throw new Error('answered without a verdict');
    return answer;
  }

  function failed(cause: unknown): Verdict {
    log('error', 'picture not scanned', { error: cause instanceof Error ? cause.message : String(cause) });
    if (onFailure === 'allow') return 'allow';
    const message = 'The service that scans pictures does not respond.';
    throw new AppError('unavailable', message, { cause, retryAfterMs: 30_000 });
  }

  async function verdictOn(image: ImageRecord, path: string, payer: string, since: number): Promise<Verdict> {
    // The service was silent for as long as it has, while this one waited. None is allowed without a question because of others.
    if (onFailure === 'refuse' && Math.max(since, answeredAt) < unansweredAt)
      return failed(new Error('no answer to those before'));
    const { filename, format, width, height, frames, size, hash } = image;
    const facts = { filename, format, width, height, frames, size, hash };
    const picture = await pictureOf(image, path, payer);
    const answer = await ask({ ...facts, ...picture }).catch(failed);
    if (typeof answer === 'string') return answer;
    if (answer.verdict !== 'block') return answer.verdict;
    log('info', 'picture blocked by the scan', { hash, peer: addressOf(image) });
    throw new AppError('forbidden', 'The operator of this server does not accept this picture.');
  }

  /**
   * Returns what happens to the picture in the file at `path`; `payer` pays for a small version. Rejects with
   * `forbidden` if it is blocked, and with `unavailable` if the service does not answer and an answer is required.
   */
  return (image: ImageRecord, path: string, payer: string) => {
    const since = performance.now();
    return inTurn(() => verdictOn(image, path, payer, since));
  };
}
