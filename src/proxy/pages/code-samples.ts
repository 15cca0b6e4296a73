import { PROTOCOLS, type Protocol } from '../proxy.ts';
import type { ListQuery } from '../queries.ts';

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

/**
 * Code that asks a page through one proxy of a list after the other until one works. The list has only proxies whose
 * protocol the program supports, and that reach the page.
 */
const SAMPLES: Record<CodeFormat, (list: string, target: string) => string> = {
  curl: (list, target) => `for proxy in $(curl -s '${list}'); do
  curl -sf -m 15 -x "$proxy" ${target} && break
done
`,

  python: (list, target) => `# pip install "requests[socks]"
import requests

proxies = requests.get("${list}", timeout=10).text.split()
for proxy in proxies:
    try:
        response = requests.get("${target}", proxies={"http": proxy, "https": proxy}, timeout=15)
        response.raise_for_status()
    except requests.RequestException:
        continue
    print(proxy, response.text)
    break
`,

  node: (list, target) => `// npm install undici; save as example.mjs
import { fetch, ProxyAgent } from 'undici';

const proxies = (await (await fetch('${list}')).text()).trim().split('\\n');
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

  scrapy: (list, target) => `# pip install scrapy; scrapy runspider example.py
import random
from urllib.request import urlopen

import scrapy

PROXIES = urlopen("${list}").read().decode().split()


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

  playwright: (list, target) => `# pip install playwright; playwright install chromium
from urllib.request import urlopen

from playwright.sync_api import Error, sync_playwright

proxies = urlopen("${list}").read().decode().split()
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
  return SAMPLES[format](list, targetFor(protocols));
}
