import type { Protocol } from '../proxy.ts';

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
