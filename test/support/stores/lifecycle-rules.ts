/**
 * A door before an S3 server that answers for the lifecycle rules of its buckets, which versitygw has none of; all else is
 * the server's own answer. `rules`: as Amazon's API writes them.
 */
export function withLifecycleRules(endpoint: string, rules: () => string | null) {
  const door = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    async fetch(request) {
      const url = new URL(request.url);
      if (!url.searchParams.has('lifecycle'))
        return fetch(`${endpoint}${url.pathname}${url.search}`, {
          method: request.method,
          headers: request.headers,
          body: request.body,
        });
      const found = rules();
      const headers = { 'content-type': 'application/xml' };
      if (found !== null) {
        const xmlns = 'http://s3.amazonaws.com/doc/2006-03-01/';
        return new Response(
          `<?xml version="1.0" encoding="UTF-8"?>\n<LifecycleConfiguration xmlns="${xmlns}">${found}</LifecycleConfiguration>`,
          { headers },
        );
      }
      const code = 'NoSuchLifecycleConfiguration';
      const message = 'The lifecycle configuration does not exist';
      const body = `<?xml version="1.0" encoding="UTF-8"?>\n<Error><Code>${code}</Code><Message>${message}</Message></Error>`;
      return new Response(body, { status: 404, headers });
    },
  });
  return { endpoint: `http://127.0.0.1:${door.port}`, stop: () => door.stop(true) };
}
