import { expect, test } from 'bun:test';
import type { RequestContext } from '../../src/http/context.ts';
import { route } from '../../src/http/route.ts';
import { createRouteTable } from '../../src/http/route-table.ts';
import { createRouter } from '../../src/http/router.ts';

const says = (text: string) => () => new Response(text);
const routes = [
  route('GET /', says('root')),
  route('GET /list', says('list'), { queued: false }),
  route('GET /i/:file', says('file')),
  route('POST /i/:file', says('unlock')),
  route('GET /i/:file/delete', says('ask')),
  route('GET /i/known/delete', says('known')),
  route('POST /api/upload', says('upload'), { limit: 'upload', bytes: 'upload_bytes' }),
  route('POST /api/job', says('job'), { limit: 'job', admin: 'always' }),
];
const table = createRouteTable(routes, (route) => route);
const router = createRouter(routes, () => new Response(null, { status: 404 }));
const match = (method: string, path: string) => table.at(`http://localhost${path}`).of(method);

test('a route has what it declares, and the safe default for the rest', () => {
  expect(match('POST', '/api/upload')).toMatchObject({
    name: '/api/upload',
    found: true,
    limit: 'upload',
    bytes: 'upload_bytes',
  });
  expect(match('POST', '/api/job')).toMatchObject({ limit: 'job', admin: 'always' });
  expect(match('GET', '/i/a.webp')).toMatchObject({ limit: 'read', queued: true });
  expect(match('GET', '/list')).toMatchObject({ limit: 'read', queued: false });
  expect(match('POST', '/i/a')).toMatchObject({ limit: 'write', queued: false });
});

test('a path has the methods of its routes, and HEAD where it has GET', () => {
  expect(match('DELETE', '/i/a')).toMatchObject({
    name: '/i/:file',
    found: false,
    allow: 'GET, HEAD, POST',
    limit: 'write',
  });
  expect(match('HEAD', '/i/a')).toMatchObject({ found: true, method: 'HEAD' });
});

test('what no route has gets a name that no stranger chose', () => {
  expect(match('GET', '/nowhere')).toMatchObject({ name: 'other', found: false, allow: '' });
  for (const method of ['BREW', 'constructor', '__proto__']) {
    expect(match(method, '/list')).toMatchObject({ name: '/list', method: 'other', found: false });
  }
});

test('the table and the router agree on every path', async () => {
  const paths = [
    ...['/', '//', '/list', '/list/', '/list//', '/List', '/l%69st', '/list?x=/i/a', '/list%2f'],
    ...['/i', '/i/', '/i/a', '/i/a/', '/i/a/b', '/i/a/delete', '/i/a/delete/', '/i/known/delete', '/i/known'],
    ...['/i//delete', '/i/%2f/delete', '/i/a%2fdelete', '//i/a', '/api/upload/', '/api//upload', '/i/..%2f'],
  ];
  const names: Record<string, string> = {
    root: '/',
    list: '/list',
    file: '/i/:file',
    unlock: '/i/:file',
    ask: '/i/:file/delete',
    known: '/i/known/delete',
    upload: '/api/upload',
    job: '/api/job',
  };
  for (const method of ['GET', 'POST']) {
    for (const path of paths) {
      const answer = await router.answer(
        new Request(`http://localhost${path}`, { method }),
        {} as RequestContext,
      );
      const routed = answer.status === 404 ? null : names[await answer.text()];
      const { name, found } = match(method, path);
      expect([method, path, found ? name : null]).toEqual([method, path, routed ?? null]);
    }
  }
});
