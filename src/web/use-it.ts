import { type Html, html } from './html.ts';
import type { Site } from './site.ts';
import { snippet } from './snippet.ts';

/** The gateway, as its users need to know it. */
export interface GatewayPanel {
  /** `pool.example.org:8899` */
  place: string;
  /** A token of the operator is needed. */
  closed: boolean;
  /** Where browsers find their configuration. */
  pac: string;
  requests: number;
  served: number;
  p95Ms: number | null;
}

/** How to send requests through the pool without picking proxies. */
export function useIt(site: Site, { place, closed, pac, requests, served, p95Ms }: GatewayPanel): Html {
  const login = closed ? 'user:TOKEN@' : '';
  const url = `http://${login}${place}`;
  const lines: [string, string][] = [
    ['curl', `curl -x ${url} https://example.com/`],
    ['SOCKS', `curl -x socks5h://${login}${place} https://example.com/`],
    ['requests', `requests.get('https://example.com/', proxies={'https': '${url}', 'http': '${url}'})`],
    ['httpx', `httpx.get('https://example.com/', proxy='${url}')`],
    ['Scrapy', `yield scrapy.Request('https://example.com/', meta={'proxy': '${url}'})`],
    [
      'Playwright',
      `playwright.chromium.launch(proxy={'server': 'http://${place}'${closed ? ", 'username': 'user', 'password': 'TOKEN'" : ''}})`,
    ],
    ['Node', `fetch('https://example.com/', { dispatcher: new (require('undici').ProxyAgent)('${url}') })`],
    ['Browsers', pac],
  ];
  return html`<section aria-labelledby="use-title">
<header class="section-head"><h2 id="use-title">Use it</h2></header>
<p>One address stands for the whole pool: each request goes to proxies that work, until one brings the answer. ${figures(requests, served, p95Ms)}</p>
${lines.map(([label, text], index) => snippet(site, `use-${index}`, label, text))}
<p>Another proxy is taken for each connection (over plain http: for each request), so a client that keeps its connection keeps its
exit, too. Options stand in the user's name, such as <code>user-country-de-session-abc</code>.${closed && html` The operator gives out tokens.`}</p>
</section>`;
}

function figures(requests: number, served: number, p95Ms: number | null): string {
  if (requests === 0 || p95Ms === null) return '';
  const share = Math.floor((served / requests) * 1000) / 10;
  return `Since the start ${share} % of ${requests} were answered, 95 of 100 within ${Math.round(p95Ms)} ms.`;
}
