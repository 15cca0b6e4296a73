// The calls of test/support/clients/generated-clients.ts with Eden's treaty, over the types that openapi-typescript has made.
import { treaty } from '@elysiajs/eden';
import type { paths } from './api';
import type { App } from './app';

declare const process: { argv: string[]; stdout: { write(text: string): void } };

const [, , url = '', picture = ''] = process.argv;
const { api, i } = treaty<App<paths>>(url, {
  // Times are strings, as they are described, and pictures are not text.
  parseDate: false,
  onResponse: (answer) =>
    answer.headers.get('content-type')?.startsWith('image/') ? answer.blob() : undefined,
});
const bytes = Uint8Array.from(atob(picture), (letter) => letter.charCodeAt(0));
const file = (name: string) => new File([bytes], name, { type: 'image/png' });

const query = { protocol: 'socks4,socks5', status: 'dead', limit: 3 } as const;
const list = need((await api.v1.proxies.get({ query })).data);
// With another `format` it would be text.
if (typeof list === 'string') throw new Error('lines came in place of JSON');
const [proxy] = list.proxies;
const lines = need((await api.export.get({ query: { format: 'text', random: true, limit: 5 } })).data);
if (typeof lines !== 'string') throw new Error('JSON came in place of lines');
const report = need(
  (await api.proxy({ id: need(proxy).id }).report.post({ ok: false, target: 'example.com' })).data,
);

const form = stored((await api.upload.post({ image: file('form é.png'), format: 'png' })).data);
const small = stored(
  (await api.upload.post({ image: file('bytes.png') }, { query: { format: 'jpeg', max_width: 1 } })).data,
);
const secret = stored(
  (await api.upload.post({ image: file('secret.png'), password: 'tea', format: 'gif' })).data,
);
const info = need((await api.info({ id: form.id }).get()).data);

const first = need((await api.list.get({ query: { per_page: 1 } })).data);
const second = need((await api.list.get({ query: { per_page: 1, cursor: need(first.next) } })).data);

const owner = (token: string) => ({ headers: { 'X-Delete-Token': token } });
const changed = need(
  (
    await api
      .image({ id: form.id })
      .patch({ visibility: 'unlisted', expires_in: '1d' }, owner(form.delete_token))
  ).data,
);

const headers = { 'X-Image-Password': 'tea' };
const locked = await api.info({ id: secret.id }).get();
const unlocked = need((await api.info({ id: secret.id }).get({ headers })).data);
const content: unknown = (await i({ file: `${secret.id}.gif` }).get({ headers })).data;

const refused = await api.v1.proxies.get({ query: { limit: 0 } });

for (const { id, delete_token } of [form, small, secret]) {
  await api['./delete']({ id }).delete(undefined, owner(delete_token));
}
const gone = await api.info({ id: form.id }).get();

// @ts-expect-error: there is no such format
const misspelt = () => api.v1.proxies.get({ query: { format: 'xml' } });
// @ts-expect-error: nor such a path
const nowhere = () => api.nothing.get();
void [misspelt, nowhere];

process.stdout.write(
  JSON.stringify({
    filters: list.proxies.map(({ protocol, status }) => protocol.startsWith('socks') && status === 'dead'),
    text: lines.split('\n').filter((line) => /^[\d.]+:\d+$/.test(line)).length,
    report: report.next_check !== '',
    form: [form.filename, form.format],
    bytes: [small.filename, small.format, small.width],
    info: [info.id === form.id, info.expires_at, info.visibility],
    pages: [first.images.length, second.images.length, first.images[0]?.id !== second.images[0]?.id],
    change: [changed.visibility, changed.expires_at !== null],
    password: [
      locked.status,
      locked.error?.value?.code,
      unlocked.protected,
      content instanceof Blob && content.size === secret.size,
    ],
    error: [refused.status, refused.error?.value?.code, refused.error?.value?.details?.[0]?.field],
    deletion: [gone.status, gone.error?.value?.code],
  }),
);

function need<T>(value: T): NonNullable<T> {
  if (value === undefined || value === null) throw new Error('there is no answer');
  return value;
}

/** One picture out of the answer to an upload, which may be about several. */
function stored<T>(answer: T): Extract<T, { delete_token: string }> {
  if (typeof answer !== 'object' || answer === null || !('delete_token' in answer))
    throw new Error('it was not stored');
  return answer as Extract<T, { delete_token: string }>;
}
