import { type Html, html } from '../../web/html.ts';
import type { Site } from '../../web/site.ts';
import { codeBlock, snippet } from '../../web/snippet.ts';
import type { CodeFormat } from './code-samples.ts';

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

/** Code for one program, or `needs` if the filters leave nothing that it supports. */
export type CodeSample = { format: CodeFormat } & ({ code: string } | { needs: readonly string[] });

const USER_EXAMPLE = 'user-country-de-session-abc';

/** Renders code that uses the proxies of the list. */
export function codeSamples(site: Site, samples: readonly CodeSample[]): Html {
  const { words, formats } = site;
  const { proxies } = words;
  return html`<div class="samples">${samples.map((sample, index) => {
    const { format } = sample;
    const name = proxies.formats[format];
    return html`<details name="sample"${index === 0 && html` open`}><summary>${name}</summary>${
      'code' in sample
        ? codeBlock(site, `code-${format}`, name, sample.code)
        : html`<p class="muted">${proxies.useNone(name, formats.anyOf(sample.needs))}</p>`
    }</details>\n`;
  })}</div>`;
}

/** Renders how to send requests through the pool without choosing proxies. */
export function gatewayUse(site: Site, panel: GatewayPanel): Html {
  const { place, closed, requests, served, p95Ms } = panel;
  const { words, formats } = site;
  const { proxies } = words;
  const login = closed ? 'user:TOKEN@' : '';
  const url = `http://${login}${place}`;
  const lines: [string, string][] = [
    [proxies.formats.curl, `curl -x ${url} https://example.com/`],
    ['SOCKS', `curl -x socks5h://${login}${place} https://example.com/`],
    [
      proxies.formats.python,
      `requests.get('https://example.com/', proxies={'https': '${url}', 'http': '${url}'})`,
    ],
    [proxies.formats.node, `fetch('https://example.com/', { dispatcher: new ProxyAgent('${url}') })`],
    [proxies.formats.scrapy, `yield scrapy.Request('https://example.com/', meta={'proxy': '${url}'})`],
    [
      proxies.formats.playwright,
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
<p>${proxies.gatewayNotes} <code>${USER_EXAMPLE}</code>.${closed && ` ${proxies.gatewayTokens}`}</p></section>`;
}
