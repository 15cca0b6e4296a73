import { createLineFormat } from '../pool/export.ts';
import { PROTOCOLS, type Protocol, type ProxyRecord } from '../proxy.ts';
import { EXPORT_FORMATS, type ListQuery } from '../queries.ts';

/** Programs for which the pages generate code that uses proxies. */
export const CODE_FORMATS = ['curl', 'python', 'node', 'scrapy', 'playwright'] as const;
export type CodeFormat = (typeof CODE_FORMATS)[number];

/**
 * The protocols that each program supports. undici opens a tunnel for every request, which plain `http`
 * proxies may refuse.
 */
export const SPEAKS: Readonly<Record<CodeFormat, readonly Protocol[]>> = {
  curl: ['http', 'https', 'socks4', 'socks5'],
  python: ['http', 'https', 'socks4', 'socks5'],
  node: ['https'],
  scrapy: ['http', 'https'],
  playwright: ['http', 'https', 'socks4', 'socks5'],
};

/** Where the code gets its proxies: these URLs, or a list that it fetches. */
type Supply = { urls: readonly string[] } | { list: string };

/**
 * Returns code that asks `target` through one proxy after the other until one works. `supply` has only
 * proxies whose protocol the program supports (`SPEAKS`) and that reach the target.
 */
export function codeFor(format: CodeFormat, supply: Supply, target: string): string {
  return SAMPLES[format](supply, target);
}

const SAMPLES: Record<CodeFormat, (supply: Supply, target: string) => string> = {
  curl(supply, target) {
    if ('urls' in supply && supply.urls.length === 1) return `curl -x ${supply.urls[0]} ${target}\n`;
    const words = 'urls' in supply ? supply.urls.join(' \\\n  ') : `$(curl -s '${supply.list}')`;
    return `for proxy in ${'urls' in supply ? `\\\n  ${words}` : words}; do
  curl -sf -m 15 -x "$proxy" ${target} && break
done
`;
  },

  python: (supply, target) => `# pip install "requests[socks]"
import requests

proxies = ${'urls' in supply ? pythonList(supply.urls) : `requests.get("${supply.list}", timeout=10).text.split()`}
for proxy in proxies:
    try:
        response = requests.get("${target}", proxies={"http": proxy, "https": proxy}, timeout=15)
        response.raise_for_status()
    except requests.RequestException:
        continue
    print(proxy, response.text)
    break
`,

  node: (supply, target) => `// npm install undici; save as example.mjs
import { fetch, ProxyAgent } from 'undici';

const proxies = ${'urls' in supply ? scriptList(supply.urls) : `(await (await fetch('${supply.list}')).text()).trim().split('\\n')`};
for (const proxy of proxies) {
  try {
    const response = await fetch('${target}', {
      dispatcher: new ProxyAgent(proxy),
      signal: AbortSignal.timeout(15_000),
    });
    if (!response.ok) continue;
    console.log(proxy, await response.text());
    break;
  } catch {}
}
`,

  scrapy: (supply, target) => `# pip install scrapy; scrapy runspider example.py
import random
from urllib.request import urlopen

import scrapy

PROXIES = ${'urls' in supply ? pythonList(supply.urls) : `urlopen("${supply.list}").read().decode().split()`}


class RandomProxy:
    def process_request(self, request, spider=None):
        request.meta["proxy"] = random.choice(PROXIES)


class Example(scrapy.Spider):
    name = "example"
    start_urls = ["${target}"]
    custom_settings = {"DOWNLOADER_MIDDLEWARES": {RandomProxy: 545}, "DOWNLOAD_TIMEOUT": 15, "RETRY_TIMES": 5}

    def parse(self, response):
        print(response.meta["proxy"], response.text)
`,

  playwright: (supply, target) => `# pip install playwright; playwright install chromium
from urllib.request import urlopen

from playwright.sync_api import Error, sync_playwright

proxies = ${'urls' in supply ? pythonList(supply.urls) : `urlopen("${supply.list}").read().decode().split()`}
with sync_playwright() as playwright:
    for proxy in proxies:
        browser = playwright.chromium.launch(proxy={"server": proxy})
        try:
            page = browser.new_page()
            page.goto("${target}", timeout=15_000)
        except Error:
            browser.close()
            continue
        print(proxy, page.content())
        browser.close()
        break
`,
};

const pythonList = (urls: readonly string[]) => `[\n${urls.map((url) => `    "${url}",\n`).join('')}]`;
const scriptList = (urls: readonly string[]) => `[\n${urls.map((url) => `  '${url}',\n`).join('')}]`;

/** Formats in which proxies can be copied: lines, records, or code that uses them. */
export const COPY_FORMATS = [...EXPORT_FORMATS, ...CODE_FORMATS] as const;
export type CopyFormat = (typeof COPY_FORMATS)[number];

export const isCode = (format: CopyFormat): format is CodeFormat =>
  CODE_FORMATS.some((code) => code === format);

/** Maximum number of proxies that code tries. */
const TRIES = 20;

/** Playwright resolves names at SOCKS proxies anyway, and rejects the schemes that ask for it. */
const hasRemoteDns = (format: CodeFormat) => format === 'curl' || format === 'python';

/** Returns a page that every proxy of these protocols can reach: plain `http` proxies reach nothing over TLS. */
function targetFor(protocols: readonly Protocol[]): string {
  return protocols.includes('http') ? 'http://example.com/' : 'https://example.com/';
}

/**
 * Returns the protocols that the program supports, without plain `http` if there are others, because it reaches less.
 */
function usable(format: CodeFormat, protocols: readonly Protocol[]): readonly Protocol[] {
  const spoken = SPEAKS[format].filter((one) => protocols.includes(one));
  const tunnels = spoken.filter((one) => one !== 'http');
  return tunnels.length > 0 ? tunnels : spoken;
}

/** Returns code that uses these proxies, or `null` if the program supports none of them. */
export function codeWith(
  format: CodeFormat,
  records: readonly ProxyRecord[],
  logins: boolean,
): string | null {
  const protocols = usable(format, [...new Set(records.map(({ protocol }) => protocol))]);
  const used = records.filter(({ protocol }) => protocols.includes(protocol));
  if (used.length === 0) return null;
  const write = createLineFormat('url', { remoteDns: hasRemoteDns(format), logins });
  const urls = used.map((record) => write(record).trim()).filter((line) => line !== '');
  return codeFor(format, { urls }, targetFor(protocols));
}

/**
 * Returns code that fetches the matches of a filter again on each run, or `null` if the program supports none
 * of them. `api`: URL of the list in the API.
 */
export function codeFetching(format: CodeFormat, api: string, filter: Partial<ListQuery>): string | null {
  const wanted = filter.protocol === undefined ? PROTOCOLS : (filter.protocol.split(',') as Protocol[]);
  const protocols = usable(format, wanted);
  if (protocols.length === 0) return null;
  const query = new URLSearchParams({
    ...Object.fromEntries(Object.entries(filter).map(([name, value]) => [name, String(value)])),
    protocol: protocols.join(','),
    format: 'url',
    ...(hasRemoteDns(format) && { remote_dns: 'true' }),
    limit: String(TRIES),
  });
  // Commas need no escaping, and are easier to read and edit.
  const list = `${api}?${query.toString().replaceAll('%2C', ',')}`;
  return codeFor(format, { list }, targetFor(protocols));
}
