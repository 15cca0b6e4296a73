// @ts-check

// Keeps one page and what it loads for when there is no network. Pictures, lists and answers of the API are never
// kept.

/**
 * The parts of a worker that are used here, because the types of pages and workers conflict.
 * @typedef {Event & { waitUntil(work: Promise<unknown>): void, addRoutes?(route: object): Promise<void> }} Lasting
 * @typedef {Event & { request: Request, respondWith(answer: Promise<Response>): void }} Asking
 * @typedef {{
 *   location: Location,
 *   registration: ServiceWorkerRegistration,
 *   addEventListener(type: 'install' | 'activate', listener: (event: Lasting) => void): void,
 *   addEventListener(type: 'fetch', listener: (event: Asking) => void): void,
 * }} Worker
 */
const worker = /** @type {Worker} */ (/** @type {unknown} */ (self));
/** Each version of the site registers another URL, and so has its own cache. */
const CACHE = `picpool ${new URL(worker.location.href).search}`;
const OFFLINE = new URL('offline', worker.registration.scope).href;

worker.addEventListener('install', (event) => {
  event.waitUntil(keepShell());
  // Chromium loses what a page sends while it is left, if that passes through here.
  const direct = { condition: { requestMethod: 'DELETE' }, source: 'network' };
  event.waitUntil(Promise.resolve(event.addRoutes?.(direct)).catch(() => {}));
});
worker.addEventListener('activate', (event) => event.waitUntil(forgetOthers()));
worker.addEventListener('fetch', (event) => {
  const { request } = event;
  const isPage = request.mode === 'navigate' && request.method === 'GET';
  if (isPage) event.respondWith(fetch(request).catch(() => kept(OFFLINE)));
  else if (request.url.includes('/assets/')) event.respondWith(fetch(request).catch(() => kept(request)));
});

async function keepShell() {
  const cache = await caches.open(CACHE);
  const page = await fetch(OFFLINE, { cache: 'no-store' });
  const markup = await page.clone().text();
  const files = [...markup.matchAll(/(?:href|src)="([^"]*\/assets\/[^"]+)"/g)].map(([, path = '']) => path);
  await Promise.all([cache.put(OFFLINE, page), cache.addAll(files)]);
}

async function forgetOthers() {
  const names = (await caches.keys()).filter((name) => name.startsWith('picpool ') && name !== CACHE);
  await Promise.all(names.map((name) => caches.delete(name)));
}

/** @param {RequestInfo} request */
async function kept(request) {
  return (await caches.match(request)) ?? Response.error();
}
