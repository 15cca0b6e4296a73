import { rm } from 'node:fs/promises';
import { AppError } from '../../errors.ts';
import type { RequestContext } from '../../http/request-context.ts';
import type { ImageService } from '../service.ts';
import type { UrlFetcher } from './from-url.ts';
import type { Received } from './upload.ts';
import { readUrlOrder } from './url-order.ts';

/** How pictures may be uploaded by their URL. */
export interface FromUrl extends UrlFetcher {
  /** True where only holders of tokens may. */
  needsToken: boolean;
  /** Counts the bytes that were fetched for a client; rejects with `rate_limited`. Not given: nobody is limited. */
  countBytes?: ((peer: string, bytes: number) => Promise<void>) | undefined;
}

/** Who orders. */
export type Orderer = Pick<RequestContext, 'peer' | 'payer' | 'admin' | 'holder'>;

/**
 * Returns what was received, or, where that is an order to fetch a URL, what was fetched. Rejects with `forbidden` where URLs are not fetched,
 * with `unauthorized` where the client needs a token for it, and as the fetcher does.
 */
export async function fetchOrdered(
  request: Request,
  received: Received,
  {
    from,
    fromUrl,
    service,
  }: { from: Orderer; fromUrl: FromUrl | null; service: Pick<ImageService, 'admit' | 'limits'> },
): Promise<Received> {
  const [file] = received.files;
  const order = file === undefined ? null : await readUrlOrder(request, file);
  if (order === null) return received;
  if (fromUrl === null) throw new AppError('forbidden', 'This server does not fetch pictures from URLs.');
  if (fromUrl.needsToken) demandToken(from);
  await service.admit(service.limits.maxUploadBytes, from.payer);
  const fetched = await fromUrl.fetch(order.url, from.payer, request.signal);
  const dispose = () => rm(fetched.path, { force: true });
  try {
    await fromUrl.countBytes?.(from.peer, fetched.size);
    return { files: [fetched], fields: order.fields, dispose };
  } catch (error) {
    await dispose();
    throw error;
  }
}

function demandToken({ admin, holder }: Orderer): void {
  if (admin || holder?.role === 'upload') return;
  throw new AppError(
    'unauthorized',
    'Uploads by URL need the header Authorization: Bearer <token>, with a token from the operator.',
  );
}
