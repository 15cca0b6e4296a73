import { Elysia } from 'elysia';
import { policy } from '../http/policy.ts';
import { copyProxies, type ProxyPagesOptions, showProxies, testProxy } from './pages.ts';

const hide = { detail: { hide: true } };

/** The page of the proxy pool, and the targets of its forms. */
export function proxyPageRoutes(options: ProxyPagesOptions) {
  return new Elysia()
    .get('/proxies', ({ request }) => showProxies(options, request), hide)
    .get('/proxies/copy', ({ request }) => copyProxies(options, request), hide)
    .post('/proxies/test', ({ request }) => testProxy(options, request), {
      parse: 'none',
      ...hide,
      ...policy({ limit: 'test' }),
    });
}
