import type { Protocol } from '../proxy.ts';
import type { Source, SourceFormat } from './source.ts';

interface Provider {
  name: string;
  /** `{list}` is replaced by the keys of `lists`. */
  url: string;
  /** Default: `lines`. */
  format?: SourceFormat;
  /** Name of each list in the URL, and the protocol of its entries; `null` if the entries give it. */
  lists: Readonly<Record<string, Protocol | null>>;
  /** Licence or terms as the provider states them, if any. They apply to the operator of this server. */
  terms?: string;
}

const RAW = 'https://raw.githubusercontent.com';

const three = { http: 'http', socks4: 'socks4', socks5: 'socks5' } as const;
const four = { ...three, https: 'https' } as const;

/**
 * The lists that are read if `PROXY_SOURCES` is not set, each from where its provider publishes it: caches on
 * the way may keep an old copy for half a day. Left out: jetkai/proxy-list, clarketm/proxy-list and
 * TuanMinPay/live-proxy, which have not changed for years, and lists that only repeat one of these.
 */
export const PROVIDERS: readonly Provider[] = [
  {
    name: 'proxyscrape',
    url: `${RAW}/proxyscrape/free-proxy-list/main/proxies/protocols/{list}/data.csv`,
    format: 'csv',
    lists: four,
    terms: 'MIT',
  },
  {
    name: 'geonode',
    url: 'https://proxylist.geonode.com/api/proxy-list?limit=100&page=1&sort_by=lastChecked&sort_type=desc',
    format: 'json',
    lists: { '': null },
    terms: 'acceptable use policy of geonode.com',
  },
  {
    name: 'proxifly',
    url: `${RAW}/proxifly/free-proxy-list/refs/heads/main/proxies/protocols/{list}/data.csv`,
    format: 'csv',
    lists: four,
    terms: 'GPL-3.0; asks to follow the GitHub acceptable use policy',
  },
  {
    name: 'thespeedx',
    url: `${RAW}/TheSpeedX/PROXY-List/refs/heads/master/{list}.txt`,
    lists: three,
    terms: 'no licence; for educational purposes, asks for credit',
  },
  {
    name: 'monosans',
    url: `${RAW}/monosans/proxy-list/main/proxies.json`,
    format: 'json',
    lists: { '': null },
    terms: 'MIT',
  },
  {
    name: 'openproxylist',
    url: 'https://openproxylist.xyz/{list}.txt',
    lists: four,
  },
  {
    name: 'roosterkid',
    url: `${RAW}/roosterkid/openproxylist/refs/heads/main/{list}_RAW.txt`,
    lists: { HTTPS: 'https', SOCKS4: 'socks4', SOCKS5: 'socks5' },
  },
  {
    name: 'sunny9577',
    url: `${RAW}/sunny9577/proxy-scraper/refs/heads/master/generated/{list}_proxies.txt`,
    lists: three,
    terms: 'MIT, "for lawful and ethical use only"',
  },
  {
    name: 'hideip.me',
    url: `${RAW}/zloi-user/hideip.me/refs/heads/main/{list}.txt`,
    lists: { connect: 'https', https: 'https', socks4: 'socks4', socks5: 'socks5' },
  },
  {
    name: 'spys.me',
    url: 'https://spys.me/proxy.txt',
    lists: { '': 'http' },
  },
  {
    name: 'free-proxy-list.net',
    url: 'https://{list}/',
    format: 'html',
    lists: { 'free-proxy-list.net': 'http', 'us-proxy.org': 'http', 'socks-proxy.net': null },
  },
  {
    name: 'databay-labs',
    url: `${RAW}/databay-labs/free-proxy-list/refs/heads/master/{list}.txt`,
    lists: three,
    terms: 'MIT',
  },
  {
    name: 'dpangestuw',
    url: `${RAW}/dpangestuw/Free-PROXY/refs/heads/main/{list}_proxies.txt`,
    lists: three,
  },
  {
    name: 'ebrasha',
    url: `${RAW}/ebrasha/abdal-proxy-hub/refs/heads/main/{list}-proxy-list-by-EbraSha.txt`,
    lists: four,
    terms: 'no licence; "use them freely in tools that support proxy input"',
  },
  {
    name: 'hproxy',
    url: `${RAW}/hproxy-com/free-proxy-list/refs/heads/main/{list}.txt`,
    lists: four,
  },
  {
    name: 'iplocate',
    url: `${RAW}/iplocate/free-proxy-list/refs/heads/main/protocols/{list}.txt`,
    lists: four,
  },
  {
    name: 'mauricegift',
    url: `${RAW}/mauricegift/free-proxies/refs/heads/master/files/{list}.json`,
    format: 'json',
    lists: three,
    terms: 'MIT',
  },
  {
    name: 'anonym0us',
    url: `${RAW}/Anonym0usWork1221/Free-Proxies/refs/heads/main/proxy_files/{list}_proxies.txt`,
    lists: three,
    terms: 'MIT',
  },
  {
    name: 'obcbo',
    url: `${RAW}/ObcbO/getproxy/refs/heads/master/file/{list}.txt`,
    lists: four,
  },
  {
    name: 'dinoz0rg',
    url: `${RAW}/dinoz0rg/proxy-list/refs/heads/main/checked_proxies/{list}.txt`,
    lists: three,
  },
  {
    name: 'hookzof',
    url: `${RAW}/hookzof/socks5_list/refs/heads/master/proxy.txt`,
    lists: { '': 'socks5' },
  },
  {
    name: 'fyvri',
    url: `${RAW}/fyvri/fresh-proxy-list/archive/storage/classic/{list}.txt`,
    lists: four,
    terms: 'MIT',
  },
  {
    name: 'gfpcom',
    url: `${RAW}/wiki/gfpcom/free-proxy-list/lists/{list}.txt`,
    lists: four,
  },
  {
    name: 'docip',
    url: 'https://www.docip.net/data/free.json',
    format: 'json',
    lists: { '': 'http' },
  },
  {
    name: '66daili',
    url: 'http://api.66daili.com/?format=json',
    format: 'json',
    lists: { '': 'http' },
  },
  {
    name: 'roundproxies',
    url: 'https://roundproxies.com/api/get-free-proxies/?limit=50&page=1&sort_by=lastChecked&sort_type=desc',
    format: 'json',
    lists: { '': null },
  },
  {
    name: 'scdn',
    url: 'https://proxy.scdn.io/get_proxies.php?protocol=&country=&per_page=100&page=1',
    format: 'json',
    lists: { '': null },
  },
  {
    name: 'proxy-list.download',
    url: 'https://www.proxy-list.download/api/v1/get?type={list}',
    lists: four,
  },
  {
    name: 'pubproxy',
    url: 'http://pubproxy.com/api/proxy?limit=20&format=txt',
    lists: { '': 'http' },
  },
  {
    name: 'kuaidaili',
    url: 'https://www.kuaidaili.com/free/inha/1/',
    format: 'html',
    lists: { '': 'http' },
  },
  {
    name: 'ip3366',
    url: 'http://www.ip3366.net/free/?stype=1',
    format: 'html',
    lists: { '': 'http' },
  },
];

/** The built-in lists: one source for each list of each provider. */
export const CATALOGUE: readonly Source[] = PROVIDERS.flatMap(({ name, url, format = 'lines', lists }) =>
  Object.entries(lists).map(([list, protocol]) => ({
    name: list === '' || list === name ? name : `${name}-${list.toLowerCase()}`,
    url: url.replace('{list}', list),
    format,
    protocol,
  })),
);
