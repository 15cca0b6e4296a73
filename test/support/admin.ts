import type { RunningServer } from './servers/running-server.ts';

export const ADMIN_TOKEN = 'the-token-of-the-administrator';

/** The header for a server with that `ADMIN_TOKEN`. */
export const ADMIN = { authorization: `Bearer ${ADMIN_TOKEN}` };

export type Fields = Record<string, string | string[]>;

function encoded(fields: Fields): string {
  const body = new URLSearchParams();
  for (const [name, value] of Object.entries(fields))
    for (const one of [value].flat()) body.append(name, one);
  return body.toString();
}

/** A browser at the pages of moderators, with a cookie jar of one cookie. */
export function adminBrowser(at: Pick<RunningServer, 'send' | 'url'>) {
  let cookie = '';
  const visit = {
    cookie: () => cookie,
    use(other: string) {
      cookie = other;
    },
    get: (path: string) => at.send(path, { headers: { accept: 'text/html', ...(cookie && { cookie }) } }),
    async post(path: string, fields: Fields, headers: Record<string, string> = {}) {
      const answer = await at.send(path, {
        method: 'POST',
        headers: {
          'content-type': 'application/x-www-form-urlencoded',
          origin: at.url,
          accept: 'text/html',
          ...(cookie && { cookie }),
          ...headers,
        },
        body: encoded(fields),
      });
      const set = answer.headers.get('set-cookie');
      if (set !== null) cookie = set.split(';')[0] ?? '';
      return answer;
    },
    login: (token: string) => visit.post('/admin/login', { token }),
    /** The token of the forms of a page. */
    async form(path = '/admin/log') {
      return /name="form" value="(\w+)"/.exec(await (await visit.get(path)).text())?.[1] ?? '';
    },
  };
  return visit;
}
