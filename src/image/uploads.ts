import type { ContextOf, RequestContext } from '../http/request-context.ts';
import { acceptsHtml } from '../web/navigation.ts';
import { linksOf } from './links.ts';
import type { Pages } from './pages.ts';
import type { Intake } from './upload/intake.ts';
import type { Outcome, Uploaded } from './upload/uploaded.ts';
import { uploadsView, uploadView } from './views.ts';

interface UploadsOptions {
  intake: Intake;
  contextOf: ContextOf;
  pages: Pick<Pages, 'uploaded' | 'uploadedSeveral'>;
  /** Path under which browsers reach the image host. */
  basePath: string;
}

/** Answers `POST /api/upload`. */
export function createUploads({ intake, contextOf, pages, basePath }: UploadsOptions) {
  function answerOne(request: Request, context: RequestContext, uploaded: Uploaded): Response {
    // The form of a page, sent by a browser without scripts.
    if (acceptsHtml(request)) return pages.uploaded(request, context, uploaded);
    const base = context.origin + basePath;
    return Response.json(uploadView(base, uploaded), {
      status: uploaded.inReview ? 202 : 201,
      headers: { location: linksOf(base, uploaded.image).url, 'cache-control': 'no-store' },
    });
  }

  function answerSeveral(request: Request, context: RequestContext, outcomes: readonly Outcome[]): Response {
    if (acceptsHtml(request)) return pages.uploadedSeveral(request, context, outcomes);
    return Response.json(uploadsView(context.origin + basePath, outcomes), {
      status: 201,
      headers: { 'cache-control': 'no-store' },
    });
  }

  return async function upload(request: Request): Promise<Response> {
    const { outcomes } = await intake.take(request);
    const [only, ...others] = outcomes;
    const context = contextOf(request);
    if (only && 'uploaded' in only && others.length === 0) return answerOne(request, context, only.uploaded);
    return answerSeveral(request, context, outcomes);
  };
}
