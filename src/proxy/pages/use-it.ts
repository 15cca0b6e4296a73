import { type Html, html } from '../../web/html.ts';
import type { Site } from '../../web/site.ts';
import { codeBlock, snippet } from '../../web/snippet.ts';
import { PROTOCOLS } from '../proxy.ts';
import type { ListQuery } from '../queries.ts';

/** What users of the gateway need to know. */
export interface GatewayPanel {
  /** `pool.example.org:8899` */
  place: string;
  /** True if it needs a token from the operator. */
  closed: boolean;
  requests: number;
  served: number;
  p95Ms: number | null;
}

const USER_EXAMPLE = 'user-country-de-session-abc';

/** Maximum number of proxies that the command tries. */
const TRIES = 20;

/**
 * Renders a command that fetches the matches of the filters and asks a page through one after the other until one works.
 * `api`: URL of the list. Plain `http` proxies come only if there are no others, because they reach nothing over TLS.
 */
export function listUse(site: Site, api: string, filter: Partial<ListQuery>): Html {
  const wanted = filter.protocol?.split(',') ?? PROTOCOLS;
  const tunnels = wanted.filter((protocol) => protocol !== 'http');
  const query = new URLSearchParams({
    ...Object.fromEntries(Object.entries(filter).map(([name, value]) => [name, String(value)])),
    protocol: (tunnels.length > 0 ? tunnels : wanted).join(','),
    format: 'url',
    remote_dns: 'true',
    limit: String(TRIES),
  });
  // Commas need no escaping, and are easier to read and edit.
  const list = `${api}?${query.toString().replaceAll('%2C', ',')}`;
  const target = tunnels.length > 0 ? 'https://example.com/' : 'http://example.com/';
  const code = `for proxy in $(curl -s '${list}'); do
  curl -sf -m 15 -x "$proxy" ${target} && break
done
`;
  return codeBlock(site, 'code-curl', 'curl', code);
}

/** Renders how to send requests through the pool without choosing proxies. */
export function gatewayUse(site: Site, panel: GatewayPanel): Html {
  const { place, closed, requests, served, p95Ms } = panel;
  const { words, formats } = site;
  const { proxies } = words;
  const login = closed ? 'user:TOKEN@' : '';
  const url = `http://${login}${place}`;
  const lines: [string, string][] = [
    ['curl', `curl -x ${url} https://example.com/`],
    ['SOCKS', `curl -x socks5h://${login}${place} https://example.com/`],
    [
      'Python (requests)',
      `requests.get('https://example.com/', proxies={'https': '${url}', 'http': '${url}'})`,
    ],
    ['Node.js (undici)', `fetch('https://example.com/', { dispatcher: new ProxyAgent('${url}') })`],
    ['Scrapy', `yield scrapy.Request('https://example.com/', meta={'proxy': '${url}'})`],
    [
      'Playwright',
      `playwright.chromium.launch(proxy={'server': 'http://${place}'${closed ? ", 'username': 'user', 'password': 'TOKEN'" : ''}})`,
    ],
  ];
  const figures =
    requests === 0 || p95Ms === null
      ? ''
      : ` ${proxies.gatewayFigures(formats.percent(Math.floor((served / requests) * 1000) / 1000), formats.number(requests), formats.number(Math.round(p95Ms)))}`;
  return html`<section aria-labelledby="gateway-title">
<header class="section-head"><h2 id="gateway-title">${proxies.gateway}</h2></header>
<p>${proxies.gatewayMeans}${figures}</p>
${lines.map(([label, text], index) => snippet(site, `gateway-${index}`, label, text))}
<p>${proxies.gatewayNotes} <code>${USER_EXAMPLE}</code>. ${closed ? proxies.gatewayTokens : proxies.gatewayLocal}</p></section>`;
}
