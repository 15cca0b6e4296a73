/**
 * The client of picpool for browsers, Bun, Deno and Node.
 *
 *     const picpool = createPicpool('http://localhost:3000');
 *     const { markdown } = await picpool.upload(file, { onProgress: (sent, total) => show(sent / total) });
 *     for await (const proxy of picpool.proxies({ protocol: 'socks5', country: ['DE', 'FR'] })) use(proxyUrl(proxy));
 */
import { events } from './events.ts';
import { createHttp, PicpoolError, type PicpoolOptions, type Query } from './http.ts';
import type {
  GatewayReport,
  GatewayReported,
  ImageInfo,
  ListedImage,
  PoolProxy,
  ProxyDetails,
  ProxyFilter,
  RefreshJob,
  Report,
  StoredImage,
  TestResult,
  Uploaded,
} from './types.ts';
import { type UploadOptions, upload } from './upload.ts';

export { type Answer, isBan, proxyUrl, type ThroughPoolOptions, throughPool } from './bans.ts';
export { PicpoolError, type PicpoolOptions } from './http.ts';
export type * from './types.ts';
export type { UploadOptions } from './upload.ts';

/** One server. Every call rejects with `PicpoolError` if the server refuses or does not answer. */
export interface Picpool {
  /** The base URL, without a trailing slash. */
  readonly url: string;
  /** Returns statistics of the running services. */
  stats(): Promise<Record<string, unknown>>;

  /** Yields all matching proxies in the server's order, fetching pages as the loop proceeds. */
  proxies(filter?: ProxyFilter): AsyncGenerator<PoolProxy, void, void>;
  /** Returns up to `count` of them, 1 to 500. */
  someProxies(count: number, filter?: ProxyFilter, signal?: AbortSignal): Promise<PoolProxy[]>;
  proxy(id: number): Promise<ProxyDetails>;
  /** Tests any proxy now, and waits for the result. */
  testProxy(proxy: Pick<PoolProxy, 'ip' | 'port' | 'protocol'>): Promise<TestResult>;
  /** Reports whether a proxy worked for you. */
  report(proxy: Pick<PoolProxy, 'id'>, report: Report): Promise<void>;
  /**
   * Reports how an exit of the gateway did at a site. One that failed is left out for the site, and a session moves to another one.
   * `token`: of the gateway; that of the client by default.
   */
  reportGateway(report: GatewayReport, token?: string): Promise<GatewayReported>;
  /** Starts a refresh of the pool, or returns the running one. */
  refresh(): Promise<RefreshJob>;
  /** Yields the current refresh and then each change, until the loop is left or `signal` aborts. */
  refreshEvents(signal?: AbortSignal): AsyncGenerator<RefreshJob, void, void>;

  /** Uploads a picture. */
  upload(picture: Blob, options?: UploadOptions): Promise<Uploaded>;
  /** Returns information about a picture. */
  image(id: string, password?: string): Promise<ImageInfo>;
  /** Returns the stored file of a picture. */
  imageFile(image: Pick<StoredImage, 'id' | 'format'>, password?: string): Promise<Blob>;
  /**
   * Yields all public pictures, newest first, fetching pages as the loop proceeds; with `text`, those whose name, ID
   * or format contains it.
   */
  images(text?: string): AsyncGenerator<ListedImage, void, void>;
  /** Deletes a picture that was uploaded from this address, or with its delete token. */
  deleteImage(id: string, deleteToken?: string): Promise<void>;
}

interface ProxyPage {
  proxies: PoolProxy[];
}
interface ImagePage {
  images: ListedImage[];
  next: string | null;
}

/** Maximum number in one answer. */
const PROXIES_A_PAGE = 500;
const IMAGES_A_PAGE = 100;
/** What a site has answered waits for the report. */
const REPORT_MS = 5000;
/** The server takes no longer texts. */
const MAX_ERROR_CHARS = 2000;

export function createPicpool(server: string | URL, options: PicpoolOptions = {}): Picpool {
  const http = createHttp(server, options);
  const reportMs = Math.min(REPORT_MS, options.timeoutMs || REPORT_MS);
  async function proxyPage(filter: ProxyFilter, more: Query, signal?: AbortSignal) {
    const call = { query: { ...filter, ...more }, signal, mustHave: ['proxies'] };
    return (await http.json<ProxyPage>('/api/v1/proxies', call)).proxies;
  }
  const sendReport = <T>(path: string, report: Report | GatewayReport, token?: string) =>
    http.json<T>(path, {
      method: 'POST',
      json: { ...report, error: report.error?.slice(0, MAX_ERROR_CHARS) },
      timeoutMs: reportMs,
      mustHave: ['success'],
      ...(token !== undefined && { headers: { authorization: `Bearer ${token}` } }),
    });
  const opened = (password: string | undefined) =>
    password === undefined ? {} : { headers: { 'x-image-password': inBytes(password) } };

  return {
    url: http.url,
    stats: () => http.json('/api/stats'),

    async *proxies(filter = {}) {
      // The pool changes meanwhile: a proxy that moves to a later page is not repeated.
      const told = new Set<number>();
      for (let offset = 0; ; offset += PROXIES_A_PAGE) {
        const page = await proxyPage(filter, { offset, limit: PROXIES_A_PAGE });
        for (const proxy of page) {
          if (told.has(proxy.id)) continue;
          told.add(proxy.id);
          yield proxy;
        }
        if (page.length < PROXIES_A_PAGE || filter.random) return;
      }
    },
    someProxies: (count, filter = {}, signal) => proxyPage(filter, { limit: count }, signal),
    proxy: (id) => http.json(`/api/proxy/${id}`, { mustHave: ['id'] }),
    testProxy: ({ ip, port, protocol }) =>
      http.json('/api/test_proxy_quick', {
        method: 'POST',
        json: { ip, port, protocol },
        mustHave: ['alive'],
      }),
    async report({ id }, report) {
      await sendReport(`/api/proxy/${id}/report`, report);
    },
    reportGateway: (report, token) => sendReport('/api/gateway/report', report, token),
    async refresh() {
      const { job } = await http.json<{ job: RefreshJob }>('/api/refresh', {
        method: 'POST',
        mustHave: ['job'],
      });
      return job;
    },
    refreshEvents: (signal) => events<RefreshJob>(http, '/api/refresh/events', signal),

    upload: (picture, given = {}) => upload(http, picture, given),
    image: (id, password) =>
      http.json(`/api/info/${encodeURIComponent(id)}`, { ...opened(password), mustHave: ['id'] }),
    async imageFile({ id, format }, password) {
      const extension = format === 'jpeg' ? 'jpg' : format;
      const path = `/i/${encodeURIComponent(id)}.${extension}`;
      const file = await http.open(path, 'image/', opened(password));
      return file.blob().catch((error: unknown) => {
        throw new PicpoolError(`${http.url} does not respond: the file broke off.`, {}, error);
      });
    },
    async *images(text) {
      const path = text === undefined ? '/api/list' : '/api/search';
      let cursor: string | null = null;
      do {
        const query: Query = { q: text, per_page: IMAGES_A_PAGE, cursor };
        const page: ImagePage = await http.json(path, { query, mustHave: ['images', 'next'] });
        yield* page.images;
        cursor = page.next;
      } while (cursor !== null);
    },
    async deleteImage(id, token) {
      const headers = token === undefined ? {} : { 'x-delete-token': token };
      await http.json(`/api/delete/${encodeURIComponent(id)}`, {
        method: 'DELETE',
        headers,
        mustHave: ['success', 'id'],
      });
    },
  };
}

/** Headers carry bytes, one in each character. The server reads them as UTF-8. */
function inBytes(text: string): string {
  return String.fromCharCode(...new TextEncoder().encode(text));
}
