import { pathOf } from '../http/target.ts';

/** Paths that only programs request. */
const FOR_PROGRAMS = /(^|\/)(api\/|openapi\.json$|livez$|readyz$|metrics$|sharex\.sxcu$|oembed$|assets\/)/;
/** The only such path to which a form of a page posts. */
const UPLOAD = /\/api\/upload$/;

/** Reports whether a browser asks for a page: programs and scripts that want JSON do not accept HTML. */
export function acceptsHtml(request: Request): boolean {
  return request.headers.get('accept')?.toLowerCase().includes('text/html') ?? false;
}

/** Reports whether a person will see the answer, so that an error should also be a page. */
export function isForPerson(request: Request): boolean {
  if (!acceptsHtml(request)) return false;
  const pathname = pathOf(request.url);
  return !FOR_PROGRAMS.test(pathname) || (request.method === 'POST' && UPLOAD.test(pathname));
}
