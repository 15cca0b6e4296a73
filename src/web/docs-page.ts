import { type Route, route } from '../http/route.ts';
import { escapeHtml } from '../lib/escape-html.ts';
import type { ApiDescription, Call } from './api-description.ts';
import { operationCard } from './docs-operation.ts';
import { type Html, html } from './html.ts';
import { icon } from './icons.ts';
import { pageResponse } from './page-response.ts';
import type { Site, SiteOf } from './site.ts';

/** Tags of calls that few visitors look for, which come last. */
const ABOUT_THE_SERVER = ['Server', 'Administration'];
const METHODS = ['get', 'post', 'put', 'patch', 'delete'];

type Group = [tag: string, calls: Call[]];

/** Origins in rendered pages: one that needs no quotes in a shell, and one that does. */
const ANY_NAME = 'http://origin.invalid';
const ANY_ADDRESS = 'http://[::ffff]';

/** The API description as a page. */
export function docsRoutes(siteOf: SiteOf, describe: () => Promise<object>): Route[] {
  /** By language and such an origin, because rendering takes seven times as long as the largest other page. */
  const rendered = new Map<string, string>();
  return [
    route('GET /docs', async ({ request, context: { origin } }) => {
      const site = siteOf(request);
      const any = origin.includes('[') ? ANY_ADDRESS : ANY_NAME;
      const key = `${site.language} ${any}`;
      const page = rendered.get(key) ?? docsPage(site, (await describe()) as ApiDescription, any);
      rendered.set(key, page);
      const shown = page.replaceAll(any, () => escapeHtml(origin));
      return pageResponse(site, shown, { cache: 'no-cache', compressFor: request });
    }),
  ];
}

/** Renders the API: every call with its parameters and an example, folded by tag and by call. */
function docsPage(site: Site, { info, paths, components }: ApiDescription, origin: string): string {
  const { api } = site.words;
  const groups = groupsOf(paths);
  const place = { origin, path: site.path };
  return site.render({
    title: api.title,
    summary: api.summary,
    current: `${site.path}/docs`,
    scripts: ['copy.js', 'docs.js'],
    content: html`<header class="page-head">
<div><h1>${api.title}</h1>
<p class="lead">${api.lead(info.version)}</p></div>
<p class="actions"><a class="button quiet" href="${site.path}/openapi.json" download="openapi.json">${icon('download')}OpenAPI</a></p>
</header>
<div class="docs">
<div class="docs-side">
${navigation(site, groups)}
</div>
<div class="docs-calls">
<section class="prose" aria-labelledby="errors-title"><h2 id="errors-title">${api.errors}</h2>
<p>${api.errorsAre}</p>
<pre tabindex="0" aria-label="${api.errors}"><code>{ "success": false, "error": "…", "code": "not_found", "request_id": "…" }</code></pre></section>
${groups.map(
  ([tag, calls], index) => html`<details class="tag"${index === 0 && html` open`}>
<summary><h2 lang="en">${tag}</h2></summary>
<div class="tag-calls" id="${anchorOf(tag)}">
${calls.map((call) => operationCard(site, call, components.schemas, place))}</div></details>\n`,
)}</div>
</div>`,
  });
}

function groupsOf(paths: ApiDescription['paths']): Group[] {
  const calls: Call[] = Object.entries(paths).flatMap(([path, operations]) =>
    METHODS.flatMap((method) => {
      const operation = operations[method];
      return operation ? [{ method: method.toUpperCase(), path, operation }] : [];
    }),
  );
  return [...Map.groupBy(calls, ({ operation }) => operation.tags?.[0] ?? 'Other')].sort(
    ([one], [other]) => Number(ABOUT_THE_SERVER.includes(one)) - Number(ABOUT_THE_SERVER.includes(other)),
  );
}

function anchorOf(tag: string): string {
  return tag.toLowerCase().replace(/\W+/g, '-');
}

function navigation({ words: { api } }: Site, groups: readonly Group[]): Html {
  return html`<nav class="docs-nav" aria-label="${api.calls}"><ul>
${groups.map(
  ([tag, calls]) => html`<li><a href="#${anchorOf(tag)}" lang="en">${tag}</a>
<ul>${calls.map(({ method, path, operation }) => html`<li><a href="#${operation.operationId}"><span class="method ${method.toLowerCase()}">${method}</span> ${path}</a></li>`)}</ul></li>\n`,
)}</ul></nav>`;
}
