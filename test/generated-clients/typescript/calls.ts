// The calls of test/support/clients/generated-clients.ts with openapi-fetch, over the types that openapi-typescript has made.
import createClient from 'openapi-fetch';
import type { paths } from './api';

declare const process: { argv: string[]; stdout: { write(text: string): void } };

const [, , url = '', picture = ''] = process.argv;
const api = createClient<paths>({ baseUrl: url });
const bytes = new Blob([Uint8Array.from(atob(picture), (letter) => letter.charCodeAt(0))]);
/** A binary field is a string in these types. */
const file = bytes as unknown as string;

const filters = { protocol: 'socks4,socks5', status: 'dead', limit: 3 } as const;
const list = need((await api.GET('/api/v1/proxies', { params: { query: filters } })).data);
// With another `format` it would be text.
if (typeof list === 'string') throw new Error('lines came in place of JSON');
const { proxies } = list;
const [proxy] = proxies;

const lines = need(
  (
    await api.GET('/api/export', {
      params: { query: { format: 'text', random: true, limit: 5 } },
      parseAs: 'text',
    })
  ).data,
);

const { next_check } = need(
  (
    await api.POST('/api/proxy/{id}/report', {
      params: { path: { id: need(proxy).id } },
      body: { ok: false, target: 'example.com' },
    })
  ).data,
);

const form = stored(
  (
    await api.POST('/api/upload', {
      body: { image: file, format: 'png', filename: 'form é.png' },
      bodySerializer(fields) {
        const body = new FormData();
        for (const [name, value] of Object.entries(fields)) body.append(name, value as string);
        return body;
      },
    })
  ).data,
);

const raw = stored(
  (
    await api.POST('/api/upload', {
      params: { query: { format: 'jpeg', max_width: 1, filename: 'bytes.png' } },
      headers: { 'content-type': 'application/octet-stream' },
      body: file,
      bodySerializer: (body) => body,
    })
  ).data,
);

const secret = stored(
  (
    await api.POST('/api/upload', {
      params: { query: { password: 'tea', format: 'gif' } },
      headers: { 'content-type': 'application/octet-stream' },
      body: file,
      bodySerializer: (body) => body,
    })
  ).data,
);

const info = need((await api.GET('/api/info/{id}', { params: { path: { id: form.id } } })).data);

const first = need((await api.GET('/api/list', { params: { query: { per_page: 1 } } })).data);
const cursor = need(first.next);
const second = need((await api.GET('/api/list', { params: { query: { per_page: 1, cursor } } })).data);

const changed = need(
  (
    await api.PATCH('/api/image/{id}', {
      params: { path: { id: form.id }, header: { 'X-Delete-Token': form.delete_token } },
      body: { visibility: 'unlisted', expires_in: '1d' },
    })
  ).data,
);

const path = { id: secret.id };
const locked = await api.GET('/api/info/{id}', { params: { path } });
const header = { 'X-Image-Password': 'tea' };
const unlocked = need((await api.GET('/api/info/{id}', { params: { path, header } })).data);
const params = { path: { file: `${secret.id}.gif` }, header };
const content = need((await api.GET('/i/{file}', { params, parseAs: 'blob' })).data);

const refused = await api.GET('/api/v1/proxies', { params: { query: { limit: 0 } } });

for (const { id, delete_token } of [form, raw, secret]) {
  await api.DELETE('/api/delete/{id}', {
    params: { path: { id }, header: { 'X-Delete-Token': delete_token } },
  });
}
const gone = await api.GET('/api/info/{id}', { params: { path: { id: form.id } } });

process.stdout.write(
  JSON.stringify({
    filters: proxies.map(({ protocol, status }) => protocol.startsWith('socks') && status === 'dead'),
    text: lines.split('\n').filter((line) => /^[\d.]+:\d+$/.test(line)).length,
    report: next_check !== '',
    form: [form.filename, form.format],
    bytes: [raw.filename, raw.format, raw.width],
    info: [info.id === form.id, info.expires_at, info.visibility],
    pages: [first.images.length, second.images.length, first.images[0]?.id !== second.images[0]?.id],
    change: [changed.visibility, changed.expires_at !== null],
    password: [locked.response.status, locked.error?.code, unlocked.protected, content.size === secret.size],
    error: [refused.response.status, refused.error?.code, refused.error?.details?.[0]?.field],
    deletion: [gone.response.status, gone.error?.code],
  }),
);

function need<T>(value: T): NonNullable<T> {
  if (value === undefined || value === null) throw new Error('there is no answer');
  return value;
}

/** One picture out of the answer to an upload, which may be about several. */
function stored<T extends object>(answer: T | undefined): Extract<T, { delete_token: string }> {
  if (answer === undefined || !('delete_token' in answer)) throw new Error('it was not stored');
  return answer as Extract<T, { delete_token: string }>;
}
