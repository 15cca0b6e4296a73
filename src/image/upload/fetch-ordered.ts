import { rm } from 'node:fs/promises';
import { AppError } from '../../errors.ts';
import type { RequestContext } from '../../http/request-context.ts';
import type { ImageService } from '../service.ts';
import type { UrlFetcher } from './from-url.ts';
import type { Received } from './upload.ts';
import type { UrlOrder } from './url-order.ts';

/** How pictures may be uploaded by URL. */
export interface FromUrl extends UrlFetcher {
  /** True if this needs a token. */
  needsToken: boolean;
  /** Counts the bytes fetched for a client. Rejects with `rate_limited`. Default: unlimited. */
  countBytes?: ((peer: string, bytes: number) => Promise<void>) | undefined;
}

interface Ordering {
  /** The client. */
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
      'This server does not fetch pictures from URLs. Send the picture itself.',
    );
  }
  if (fromUrl.needsToken) demandToken(from);
  await service.admit(service.limits.maxUploadBytes, from.payer);
  const fetched = await fromUrl.fetch(order.url, from.payer, signal);
  const dispose = () => rm(fetched.path, { force: true });
  try {
    await fromUrl.countBytes?.(from.peer, fetched.size);
    return { files: [fetched], fields: order.fields, dispose };
  } catch (error) {
    await dispose();
    throw error;
  }
}

function demandToken({ admin, holder }: Ordering['from']): void {
  if (admin || holder?.role === 'upload') return;
  throw new AppError(
    'unauthorized',
    'Uploads by URL need the header Authorization: Bearer <token>, with a token from the operator.',
  );
}
