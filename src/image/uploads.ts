import { AppError, invalidParameter } from '../errors.ts';
import type { ContextOf, RequestContext } from '../http/request-context.ts';
import { forEachBounded } from '../lib/for-each-bounded.ts';
import { acceptsHtml } from '../web/navigation.ts';
import type { Uploader } from './access/deletion-rights.ts';
import { linksOf } from './links.ts';
import type { Pages } from './pages.ts';
import type { ImageService, Uploaded } from './service.ts';
import { cleanFilename } from './upload/filename.ts';
import { demandOne, type Outcome } from './upload/outcome.ts';
import { noImage, type ReceivedFile, receiveUpload } from './upload/upload.ts';
import { parseUploadOptions } from './upload/upload-options.ts';
import { uploadsView, uploadView } from './views.ts';

/** Files of one form that are converted at once: the others of the client wait for none of them long. */
const AT_ONCE = 4;

export interface UploadsOptions {
  service: ImageService;
  contextOf: ContextOf;
  pages: Pick<Pages, 'uploaded' | 'uploadedSeveral'>;
  /** Path under which browsers reach the image host. */
  basePath: string;
  /** Counts one more upload of a client, by its address; rejects with `rate_limited`. Not given: nobody is limited. */
  countUpload?: ((peer: string) => Promise<void>) | undefined;
}

type Options = ReturnType<typeof parseUploadOptions>;

/** Answers `POST /api/upload`. */
export function createUploads({ service, contextOf, pages, basePath, countUpload }: UploadsOptions) {
  async function storeOne(file: ReceivedFile, options: Options, from: Uploader, signal: AbortSignal) {
    const { filename, ...wanted } = options;
    if (file.size === 0) throw noImage();
    const named = (filename && cleanFilename(filename)) || file.filename;
    const { peer, identity, payer } = from;
    return service.upload({ ...file, filename: named }, wanted, { peer, identity, payer }, signal);
  }

  /** One that fails takes no other with it. */
  async function storeAll(
    files: readonly ReceivedFile[],
    options: Options,
    from: Uploader,
    signal: AbortSignal,
  ): Promise<Outcome[]> {
    if (options.filename !== null) {
      throw invalidParameter('filename', 'filename can be given for a single file only.');
    }
    const outcomes: Outcome[] = [];
    await forEachBounded(files.entries(), AT_ONCE, async ([index, file]) => {
      try {
        // The request itself was counted as the first of them.
        if (index > 0) await countUpload?.(from.peer);
        outcomes[index] = { uploaded: await storeOne(file, options, from, signal) };
      } catch (error) {
        if (!(error instanceof AppError)) throw error;
        outcomes[index] = { filename: file.filename, fault: error };
      }
    });
    return outcomes;
  }

  function answerOne(request: Request, context: RequestContext, uploaded: Uploaded): Response {
    // The form of a page, sent by a browser without scripts.
    if (acceptsHtml(request)) return pages.uploaded(context, uploaded);
    const base = context.origin + basePath;
    return Response.json(uploadView(base, uploaded), {
      status: 201,
      headers: { location: linksOf(base, uploaded.image).url, 'cache-control': 'no-store' },
    });
  }

  function answerSeveral(request: Request, context: RequestContext, outcomes: readonly Outcome[]): Response {
    demandOne(outcomes);
    if (acceptsHtml(request)) return pages.uploadedSeveral(context, outcomes);
    return Response.json(uploadsView(context.origin + basePath, outcomes), {
      status: 201,
      headers: { 'cache-control': 'no-store' },
    });
  }

  return async function upload(request: Request): Promise<Response> {
    const { maxUploadBytes: maxBytes } = service.limits;
    const context = contextOf(request);
    // Asked for now: the address is known only while the connection stands.
    const { peer, identity, payer } = context;
    const query = Object.fromEntries(new URL(request.url).searchParams);
    // Faults in the query are told before the body comes.
    parseUploadOptions(query);
    // A body that announces too much is refused for that, not for want of room.
    const announced = Number(request.headers.get('content-length')) || maxBytes;
    await service.admit(Math.min(announced, maxBytes), payer);
    const received = await receiveUpload(request, {
      maxBytes,
      folder: service.folder,
      signal: request.signal,
    });
    try {
      const options = parseUploadOptions({ ...query, ...received.fields });
      const { files } = received;
      const [only] = files;
      if (files.length === 1 && only) {
        const uploaded = await storeOne(only, options, { peer, identity, payer }, request.signal);
        return answerOne(request, context, uploaded);
      }
      const outcomes = await storeAll(files, options, { peer, identity, payer }, request.signal);
      return answerSeveral(request, context, outcomes);
    } catch (error) {
      if (!request.signal.aborted) throw error;
      throw new AppError('invalid_body', 'The connection was closed before the answer.', { cause: error });
    } finally {
      await received.dispose();
    }
  };
}
