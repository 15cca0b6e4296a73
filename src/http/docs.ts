import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { Elysia } from 'elysia';
import { AppError } from '../errors.ts';

/** The page runs only scripts of this server; Swagger UI sets style attributes and draws icons from data URLs. */
const CSP =
  "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; connect-src 'self'";

const PAGE = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>picpool API</title>
<link rel="stylesheet" href="/docs/swagger-ui.css">
</head>
<body>
<div id="swagger-ui"></div>
<script src="/docs/swagger-ui-bundle.js"></script>
<script src="/docs/start.js"></script>
</body>
</html>
`;

const START =
  "window.ui = SwaggerUIBundle({ url: '/openapi.json', dom_id: '#swagger-ui', deepLinking: true, tryItOutEnabled: true });\n";

const ASSETS: Record<string, string> = {
  'swagger-ui.css': 'text/css; charset=utf-8',
  'swagger-ui-bundle.js': 'text/javascript; charset=utf-8',
};

/** `/docs`: the API description as a page, with everything it needs served from here. */
export function docsRoutes() {
  return new Elysia()
    .get('/docs', () => new Response(PAGE, { headers: pageHeaders('text/html; charset=utf-8') }))
    .get(
      '/docs/start.js',
      () => new Response(START, { headers: pageHeaders('text/javascript; charset=utf-8') }),
    )
    .get('/docs/:asset', async ({ params: { asset } }) => {
      const type = ASSETS[asset];
      if (!type) throw new AppError('not_found', 'There is nothing at this path.');
      const file = await readFile(fileURLToPath(import.meta.resolve(`swagger-ui-dist/${asset}`)));
      return new Response(file, {
        headers: { ...pageHeaders(type), 'cache-control': 'public, max-age=86400' },
      });
    });
}

function pageHeaders(type: string): Record<string, string> {
  return { 'content-type': type, 'content-security-policy': CSP };
}
