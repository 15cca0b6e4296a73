import { rm } from 'node:fs/promises';
import { AppError } from '../../errors.ts';
import type { RequestContext } from '../../http/request-context.ts';
import type { ImageService } from '../service.ts';
import type { UrlFetcher } from './from-url.ts';
import type { Received } from './upload.ts';
import type { UrlOrder } from './url-order.ts';

/** How pictures may be uploaded by their URL. */
export interface FromUrl extends UrlFetcher {
  /** True if only holders of tokens may. */
  needsToken: boolean;
  /** Counts the bytes that were fetched for a client; rejects with `rate_limited`. Not given: nobody is limited. */
  countBytes?: ((peer: string, bytes: number) => Promise<void>) | undefined;
}

export interface Ordering {
  /** Who orders. */
  from: Pick<RequestContext, 'peer' | 'payer' | 'admin' | 'holder'>;
  fromUrl: FromUrl | null;
  service: Pick<ImageService, 'admit' | 'limits'>;
  signal: AbortSignal;
}

/**
 * Fetches what was ordered, as if the client had sent it. Rejects with `forbidden` if URLs are not fetched, with `unauthorized` where the
 * client needs a token for it, and as the fetcher does.
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
