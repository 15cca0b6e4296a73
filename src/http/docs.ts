import { readFile } from 'node:fs/promises';
import { Elysia } from 'elysia';
import { AppError } from '../errors.ts';
import { type AssetName, assetPath } from '../shared/assets.ts';

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

const ASSETS: Record<string, { name: AssetName; type: string }> = {
  'swagger-ui.css': { name: 'swagger-ui-dist/swagger-ui.css', type: 'text/css; charset=utf-8' },
  'swagger-ui-bundle.js': {
    name: 'swagger-ui-dist/swagger-ui-bundle.js',
    type: 'text/javascript; charset=utf-8',
  },
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
      const found = Object.hasOwn(ASSETS, asset) ? ASSETS[asset] : undefined;
      if (!found) throw new AppError('not_found', 'There is nothing at this path.');
      const file = await readFile(assetPath(found.name));
      return new Response(file, {
        headers: { ...pageHeaders(found.type), 'cache-control': 'public, max-age=86400' },
      });
    });
}

function pageHeaders(type: string): Record<string, string> {
  return { 'content-type': type, 'content-security-policy': CSP };
}
