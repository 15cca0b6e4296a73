import type { ApiDescription, Call } from './api-description.ts';
import { operationCard } from './docs-operation.ts';
import { html } from './html.ts';
import { icon } from './icons.ts';
import type { Site } from './site.ts';

/** Tags of calls that few visitors look for; they come last. */
const ABOUT_THE_SERVER = ['Server', 'Administration'];
const METHODS = ['get', 'post', 'put', 'patch', 'delete'];

/** The API: every call with its parameters, an example for curl, and a form that sends it. */
export function docsPage(site: Site, { info, paths, components }: ApiDescription, origin: string): string {
  const calls: Call[] = Object.entries(paths).flatMap(([path, operations]) =>
    METHODS.flatMap((method) => {
      const operation = operations[method];
      return operation ? [{ method: method.toUpperCase(), path, operation }] : [];
    }),
  );
  const groups = [...Map.groupBy(calls, ({ operation }) => operation.tags?.[0] ?? 'Other')].sort(
    ([one], [other]) => Number(ABOUT_THE_SERVER.includes(one)) - Number(ABOUT_THE_SERVER.includes(other)),
  );
  const anchor = (tag: string) => tag.toLowerCase().replace(/\W+/g, '-');

  return site.render({
    title: 'API',
    summary: 'The interface of this server for programs, with examples that run here.',
    current: `${site.path}/docs`,
    scripts: ['copy.js', 'docs.js'],
    content: html`<header class="page-head">
<div><h1>API</h1>
<p class="lead">${info.description ?? ''} Version ${info.version}; every example runs against this server.</p></div>
<p class="actions"><a class="button quiet" href="${site.path}/openapi.json" download="openapi.json">${icon('download')}OpenAPI</a></p>
</header>
<div class="docs">
<nav class="docs-nav" aria-label="Calls"><ul>
${groups.map(
  ([tag, members]) => html`<li><a href="#${anchor(tag)}">${tag}</a>
<ul>${members.map(({ method, path, operation }) => html`<li><a href="#${operation.operationId}"><span class="method ${method.toLowerCase()}">${method}</span> ${path}</a></li>`)}</ul></li>\n`,
)}</ul></nav>
<div class="docs-calls">
<section class="prose" aria-labelledby="errors-title"><h2 id="errors-title">Errors</h2>
<p>Every error is JSON with a sentence, a code for programs, and the id of the request: <code>{"success": false, "error": "…", "code": "not_found", "request_id": "…"}</code>. After 429 and 503, <code>Retry-After</code> says when to come back.</p></section>
${groups.map(
  ([tag, members]) => html`<section aria-labelledby="${anchor(tag)}">
<h2 id="${anchor(tag)}">${tag}</h2>
${members.map((call) => operationCard(call, components.schemas, { origin, path: site.path }))}</section>\n`,
)}</div>
</div>`,
  });
}
