/** No script, nothing from elsewhere; forms go to this server only. */
const PAGE_POLICY =
  "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/** An HTML answer. `cache`: its `Cache-Control`. */
export function pageResponse(
  page: string,
  { status = 200, cache, headers = [] }: { status?: number; cache: string; headers?: [string, string][] },
): Response {
  return new Response(page, {
    status,
    headers: [
      ['content-type', 'text/html; charset=utf-8'],
      ['cache-control', cache],
      ['content-security-policy', PAGE_POLICY],
      ...headers,
    ],
  });
}
