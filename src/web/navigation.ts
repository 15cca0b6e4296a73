import { pathOf } from '../http/target.ts';

/** Paths that only programs request. */
const FOR_PROGRAMS = /(^|\/)(api\/|openapi\.json$|livez$|readyz$|metrics$|sharex\.sxcu$|oembed$|assets\/)/;
/** The one of them that a form of a page posts to. */
const UPLOAD = /\/api\/upload$/;

/** True if a browser asks for a page: programs and scripts that want JSON do not name HTML. */
export function acceptsHtml(request: Request): boolean {
  return request.headers.get('accept')?.toLowerCase().includes('text/html') ?? false;
}

/** True if a person will look at the answer, so that an error should be a page as well. */
export function isForPerson(request: Request): boolean {
  if (!acceptsHtml(request)) return false;
  const pathname = pathOf(request.url);
  return !FOR_PROGRAMS.test(pathname) || (request.method === 'POST' && UPLOAD.test(pathname));
}
