import { expect, test } from 'bun:test';
import { docsRoutes } from '../../src/web/docs-page.ts';
import { bareSite } from '../support/browser/web.ts';

const CALL = { operationId: 'getIt', summary: 'Get it', responses: {}, tags: ['Server'] };

test('the page of the API is rendered once for all hosts, with the address of each in its examples', async () => {
  const site = bareSite();
  let rendered = 0;
  const describe = async () => {
    rendered++;
    return { info: { version: '1' }, paths: { '/it': { get: CALL } }, components: { schemas: {} } };
  };
  const [docs] = docsRoutes(() => site, describe);
  for (const origin of ['http://one.example', 'https://two.example:8443', 'http://[::1]:3000']) {
    const request = new Request(`${origin}/docs`);
    const page = await docs?.handle({ request, context: { origin } } as never);
    const url = origin.includes('[') ? `&#39;${origin}/it&#39;` : `${origin}/it`;
    expect((await page?.text())?.match(/curl (\S+?)</)?.[1]).toBe(url);
  }
  expect(rendered).toBe(2);
});
