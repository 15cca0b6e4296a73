import { strict as assert } from 'node:assert';
import { readFile } from 'node:fs/promises';
import { asJson } from '../json.ts';
import { until } from '../stores/services.ts';

/** A 2 x 2 pixel PNG. */
const PNG = Uint8Array.fromBase64(
  'iVBORw0KGgoAAAANSUhEUgAAAAIAAAACCAIAAAD91JpzAAAACXBIWXMAAAPoAAAD6AG1e1JrAAAAEklEQVQImWOQj98vH7+fAUIBACA6BPWe5fjkAAAAAElFTkSuQmCC',
);

/** Calls that need nothing to be there: method and path, and the status they must answer. */
const CALLS: [call: string, status: number][] = [
  ['GET /readyz', 200],
  ['GET /livez', 200],
  ['GET /openapi.json', 200],
  ['GET /', 200],
  ['GET /docs', 200],
  ['GET /gallery', 200],
  ['GET /proxies', 200],
  ['GET /favicon.ico', 200],
  ['GET /assets/any/style.css', 200],
  ['GET /assets/any/upload.js', 200],
  ['GET /api/stats', 200],
  ['GET /api/v1/proxies', 200],
  ['GET /api/export', 200],
  ['GET /api/status', 200],
  ['GET /api/filters', 200],
  ['GET /api/proxy/1', 404],
  ['POST /api/proxy/1/test', 404],
  ['GET /api/list', 200],
  ['GET /api/search?q=nothing', 200],
  ['GET /api/info/AAAAAAAAAAAA', 404],
  ['GET /i/AAAAAAAAAAAA', 404],
  ['GET /nothing', 404],
  ['PUT /api/list', 405],
];

/**
 * Asks a server that has just started for everything it offers, and stores and deletes a picture in every format.
 * Throws an `AssertionError` at the first answer that is not right. `token`: of its
 * administrator, where it has one.
 */
export async function smoke(url: string, token?: string): Promise<void> {
  // A server listens before a slow store has answered. If it never becomes ready, the first call says why.
  await until(async () => (await fetch(`${url}/readyz`)).ok).catch(() => {});
  for (const [call, status] of CALLS) {
    const [method = '', path] = call.split(' ');
    const answer = await fetch(`${url}${path}`, { method });
    assert.equal(answer.status, status, `${call} answered ${answer.status}: ${await answer.text()}`);
  }
  await openPage(url, '/docs');
  await testAProxy(url);
  for (const format of ['webp', 'jpeg', 'png', 'avif', 'gif']) await storeAndDelete(url, format, PNG, 2);
  await storeAndDelete(
    url,
    'webp',
    await readFile(new URL('../../fixtures/display-p3.heic', import.meta.url)),
    64,
  );
  await storeAndDelete(
    url,
    'webp',
    await readFile(new URL('../../fixtures/quarters.jxl', import.meta.url)),
    96,
  );
  const asked = {
    method: 'POST',
    ...(token !== undefined && { headers: { authorization: `Bearer ${token}` } }),
  };
  const cleaned = await fetch(`${url}/api/cleanup`, asked);
  assert.equal(cleaned.status, 200, await cleaned.text());
  const refreshed = await fetch(`${url}/api/refresh`, asked);
  assert.equal(refreshed.status, 202, await refreshed.text());
}

/** A page, and the scripts, styles and icons that it names. */
async function openPage(url: string, path: string): Promise<void> {
  const answer = await fetch(`${url}${path}`);
  const page = await answer.text();
  assert.equal(answer.status, 200, `${path} answered ${answer.status}: ${page}`);
  const needs = [...page.matchAll(/<(?:script|link)[^>]* (?:src|href)="([^"]+)"/g)].map(
    ([, need = '']) => need,
  );
  assert.notEqual(needs.length, 0, `${path} names neither script nor style`);
  for (const need of needs) {
    const found = await fetch(new URL(need, `${url}${path}`));
    assert.equal(
      found.status,
      200,
      `${path} needs ${need}, which answered ${found.status}: ${await found.text()}`,
    );
  }
}

/** An address that must never be dialled, so that nothing leaves the machine. */
async function testAProxy(url: string): Promise<void> {
  const proxy = { ip: '10.0.0.1', port: 8080, protocol: 'http' };
  const answer = await fetch(`${url}/api/test_proxy_quick`, asJson('POST', proxy));
  const body = await answer.text();
  assert.ok(answer.status === 200 || answer.status === 400, `${answer.status}: ${body}`);
  assert.notEqual(JSON.parse(body).alive, true);
}

async function storeAndDelete(
  url: string,
  format: string,
  picture: Uint8Array<ArrayBuffer>,
  width: number,
): Promise<void> {
  const form = new FormData();
  form.set('image', new File([picture], 'square'));
  form.set('format', format);
  const answer = await fetch(`${url}/api/upload`, { method: 'POST', body: form });
  const body = await answer.text();
  assert.equal(answer.status, 201, body);
  const stored = JSON.parse(body);
  assert.equal(stored.format, format);
  assert.equal(stored.width, width);
  await openPage(url, `/i/${stored.id}`);
  for (const path of [new URL(stored.raw_url).pathname, `/api/info/${stored.id}`]) {
    const found = await fetch(`${url}${path}`);
    assert.equal(found.status, 200, `${path} answered ${found.status}: ${await found.text()}`);
  }
  const part = await fetch(`${url}${new URL(stored.raw_url).pathname}`, { headers: { range: 'bytes=1-4' } });
  assert.deepEqual([part.status, (await part.bytes()).length], [206, 4]);
  // Behind the port of a container all visitors have one address, and nobody deletes by that.
  const headers = { 'X-Delete-Token': stored.delete_token };
  const deleted = await fetch(`${url}/api/delete/${stored.id}`, { method: 'DELETE', headers });
  assert.equal(deleted.status, 200, await deleted.text());
  assert.equal((await fetch(`${url}/i/${stored.id}`)).status, 404);
}
