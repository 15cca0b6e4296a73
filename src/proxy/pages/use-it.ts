import { type Html, html } from '../../web/html.ts';
import { icon } from '../../web/icons.ts';
import type { Site } from '../../web/site.ts';
import { snippet } from '../../web/snippet.ts';
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
  /** The newest first; empty for everyone but the operator. */
  latest: readonly LatestRequest[];
}

/** A request through the gateway. */
interface LatestRequest {
  /** Ms since 1970. */
  at: number;
  site: string;
  exit: string | null;
  session: string | null;
  outcome: string;
  tries: number;
  ms: number;
}

/** Code for one program, or `needs` if the filters leave nothing that it supports. */
export type CodeSample = { format: CodeFormat } & ({ code: string } | { needs: readonly string[] });

const USER_EXAMPLE = 'user-country-de-session-abc';

/** Renders code that uses the proxies of the list. */
export function codeSamples(site: Site, samples: readonly CodeSample[]): Html {
  const { words, formats } = site;
  const { proxies, frame } = words;
  return html`<div class="samples">${samples.map((sample, index) => {
    const { format } = sample;
    const name = proxies.formats[format];
    return html`<details name="sample"${index === 0 && html` open`}><summary>${name}</summary>${
      'code' in sample
        ? html`<div class="sample"><pre tabindex="0" aria-label="${name}"><code id="code-${format}">${sample.code}</code></pre><button class="copy needs-script" type="button" data-copy-from="code-${format}" aria-label="${frame.copyWhat(name)}">${icon('copy')}<span>${frame.copy}</span></button></div>`
        : html`<p class="muted">${proxies.useNone(name, formats.anyOf(sample.needs))}</p>`
    }</details>\n`;
  })}</div>`;
}

/** Renders how to send requests through the pool without choosing proxies. */
export function gatewayUse(site: Site, panel: GatewayPanel, now: number): Html {
  const { place, closed, requests, served, p95Ms, latest } = panel;
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
<p>${proxies.gatewayNotes} <code>${USER_EXAMPLE}</code>.${closed && ` ${proxies.gatewayTokens}`}</p>
${latest.length > 0 && latestRequests(site, latest, now)}</section>`;
}

function latestRequests(
  { words: { proxies }, formats }: Site,
  latest: readonly LatestRequest[],
  now: number,
): Html {
  return html`<details><summary>${proxies.latestRequests}</summary><div class="table-wrap"><table>
<thead><tr>${[proxies.time, proxies.latestSite, proxies.latestExit, proxies.latestSession, proxies.latestOutcome, proxies.latestTries, 'ms'].map((name) => html`<th scope="col">${name}</th>`)}</tr></thead>
<tbody>${latest.map(({ at, site, exit, session, outcome, tries, ms }) => html`<tr><td>${formats.age(now - at)}</td><td>${site}</td><td>${exit ?? '–'}</td><td>${session ?? '–'}</td><td>${outcome}</td><td class="number-cell">${formats.number(tries)}</td><td class="number-cell">${formats.number(ms)}</td></tr>\n`)}</tbody>
</table></div></details>
`;
}
