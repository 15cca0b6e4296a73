import { rm } from 'node:fs/promises';
import { parseHeader } from '../../codec/convert/header.ts';
import { AppError, inEnglish } from '../../errors.ts';
import type { RequestContext } from '../../http/context.ts';
import type { SafeFetch, SafeResponse } from '../../lib/safe-fetch.ts';
import { SafeFetchError } from '../../lib/safe-fetch-errors.ts';
import { createShares } from '../../lib/shares.ts';
import type { ImageService } from '../service.ts';
import { withLongHead } from './base64.ts';
import { tooLarge } from './body.ts';
import { cleanFilename } from './filename.ts';
import { temporaryPath, writeTemporary } from './temporary-file.ts';
import type { Received, ReceivedFile } from './upload.ts';
import { MAX_URL, type UrlOrder } from './url-order.ts';

/** From the name lookup to the last byte. The conversion takes additional time, and reverse proxies wait a minute. */
const TIMEOUT_MS = 20_000;
/** Concurrent fetches of one client, and of all. */
const EACH = 4;
const ALL = 32;
/** Bytes that are paid for together. */
const PORTION_BYTES = 1024 * 1024;
/** Enough for the signature of every format: that of an icon is its first directory entry. */
const HEAD_BYTES = 22;
/** Media types, besides `image/`, that servers send for unknown files. */
const NO_TYPE = /^(application|binary)\/(x-)?octet-stream$/;

type Pay = (bytes: number) => Promise<void>;

interface UrlFetcherOptions {
  /** Dials only public addresses; see `SafeFetch`. */
  fetch: SafeFetch;
  folder: string;
  maxBytes: number;
}

export function createUrlFetcher({ fetch, folder, maxBytes }: UrlFetcherOptions) {
  const shares = createShares({
    each: EACH,
    all: ALL,
    fullMessage: inEnglish(`${EACH} of your URLs are already being fetched.`),
    busyMessage: inEnglish('Too many URLs are being fetched at the moment.'),
  });

  async function ask(url: string, signal: AbortSignal, { onCompressed }: Bill): Promise<SafeResponse> {
    const headers = { accept: 'image/*' };
    const response = await fetch(url, { headers, timeoutMs: TIMEOUT_MS, maxBytes, onCompressed, signal });
    const fault = faultOf(response, maxBytes);
    if (fault === null) return response;
    response.discard();
    throw fault;
  }

  return {
    /**
     * Fetches a URL into a temporary file, which the caller removes. `pay`: for the bytes, while they arrive, whatever
     * comes of them; if it rejects, no more are read. Rejects with `invalid_parameter` and `url` if it does not lead to
     * a file, `not_an_image` as soon as the data is not a picture, `too_large`, `rate_limited`, `busy`, `storage_full`.
     */
    async fetch(url: string, client: string, signal: AbortSignal, pay: Pay): Promise<ReceivedFile> {
      if (url.length > MAX_URL) throw refused(`is longer than ${MAX_URL} characters`);
      const leave = shares.enter(client);
      const path = temporaryPath(folder);
      try {
        const bill = createBill(pay);
        const response = await ask(url, signal, bill);
        const written = await writeTemporary(path, picturesOnly(bill.paid(response.body)));
        if (written.size === 0) throw refused('leads to an empty file');
        return { ...written, filename: nameIn(response.url) };
      } catch (error) {
        await rm(path, { force: true });
        throw explained(error, maxBytes);
      } finally {
        leave();
      }
    },
  };
}

/** Fetches pictures from other servers. */
type UrlFetcher = ReturnType<typeof createUrlFetcher>;

function faultOf({ status, headers }: SafeResponse, maxBytes: number): AppError | null {
  if (status !== 200) return refused(`responded with status ${status}`);
  if (Number(headers['content-length']) > maxBytes) return tooLarge(maxBytes);
  const type = headers['content-type']?.split(';')[0]?.trim().toLowerCase() ?? '';
  if (type === '' || type.startsWith('image/') || NO_TYPE.test(type)) return null;
  return new AppError('not_an_image', inEnglish(`The URL leads to ${type.slice(0, 60)}, not to an image.`));
}

type Bill = ReturnType<typeof createBill>;

/** Pays for a body, compressed or not, whichever is more. */
function createBill(pay: Pay) {
  let [compressed, received, settled] = [0, 0, 0];

  async function settle(least: number): Promise<void> {
    const owed = Math.max(compressed, received) - settled;
    if (owed < least) return;
    settled += owed;
    await pay(owed);
  }

  return {
    async onCompressed(bytes: number): Promise<void> {
      compressed += bytes;
      await settle(PORTION_BYTES);
    },

    async *paid(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
      try {
        for await (const piece of pieces) {
          received += piece.byteLength;
          await settle(PORTION_BYTES);
          yield piece;
        }
      } finally {
        await settle(1);
      }
    },
  };
}

/** Passes on the chunks of a picture, and throws at the first chunk of anything else. */
async function* picturesOnly(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let isKnown = false;
  for await (const piece of withLongHead(pieces, HEAD_BYTES)) {
    isKnown ||= parseHeader(Buffer.from(piece)) !== null;
    if (!isKnown) {
      throw new AppError(
        'not_an_image',
        inEnglish('The URL leads to a file that is not in a known picture format.'),
      );
    }
    yield piece;
  }
}

function nameIn(url: string): string | null {
  const last = new URL(url).pathname.split('/').at(-1) ?? '';
  try {
    return cleanFilename(decodeURIComponent(last));
  } catch {
    return cleanFilename(last);
  }
}

/** Vague on purpose, so that nobody can scan the ports of others from here. */
const PHRASES: Partial<Record<SafeFetchError['kind'], string>> = {
  bad_url: 'must begin with http:// or https://',
  forbidden_address: 'has an address that is not public or a port that is not for the web',
  redirects: 'redirects too many times',
  timeout: `did not respond within ${TIMEOUT_MS / 1000} s`,
};

function explained(error: unknown, maxBytes: number): unknown {
  if (!(error instanceof SafeFetchError)) return error;
  if (error.kind === 'too_large') return tooLarge(maxBytes);
  return refused(PHRASES[error.kind] ?? 'could not be fetched', error);
}

function refused(what: string, cause?: unknown): AppError {
  const message = inEnglish(`The URL ${what}.`);
  return new AppError('invalid_parameter', message, { details: [{ field: 'url', message }], cause });
}

/** How pictures may be uploaded by URL. */
export interface FromUrl extends UrlFetcher {
  needsToken: boolean;
  /** Counts the bytes fetched for a client. Rejects with `rate_limited`. Default: unlimited. */
  countBytes?: ((peer: string, bytes: number) => Promise<void>) | undefined;
}

interface Ordering {
  from: Pick<RequestContext, 'peer' | 'payer' | 'admin' | 'holder'>;
  fromUrl: FromUrl | null;
  service: Pick<ImageService, 'admit' | 'limits'>;
  signal: AbortSignal;
}

/**
 * Fetches a picture by URL as if the client had sent it. Rejects with `forbidden` if that is disabled, with
 * `unauthorized` if the client needs a token for it, and like the fetcher.
 */
export async function fetchOrdered(
  order: UrlOrder,
  { from, fromUrl, service, signal }: Ordering,
): Promise<Received> {
  if (fromUrl === null) {
    throw new AppError(
      'forbidden',
      inEnglish('This server does not fetch pictures from URLs. Send the picture itself.'),
    );
  }
  if (fromUrl.needsToken) demandToken(from);
  await service.admit(service.limits.maxUploadBytes, from.payer);
  const pay = async (bytes: number) => {
    await fromUrl.countBytes?.(from.peer, bytes);
    await from.holder?.countBytes(bytes);
  };
  const fetched = await fromUrl.fetch(order.url, from.payer, signal, pay);
  return { files: [fetched], fields: order.fields, dispose: () => rm(fetched.path, { force: true }) };
}

function demandToken({ admin, holder }: Ordering['from']): void {
  if (admin || holder?.role === 'upload') return;
  throw new AppError(
    'unauthorized',
    inEnglish(
      'Uploads by URL need the header Authorization: Bearer <token>, with a token from the operator.',
    ),
  );
}
