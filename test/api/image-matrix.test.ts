import { expect, test } from 'bun:test';
import type { ImageEvent } from '../../src/image/service.ts';
import { eventView } from '../../src/image/views.ts';
import { type AlbumSight, sightOf } from '../support/images/album-sights.ts';
import { type ImageHost, pathOf, type UploadAnswer } from '../support/images/image-host.ts';
import { imageHosts } from '../support/images/image-hosts.ts';
import { photo } from '../support/images/images.ts';
import { asJson, json } from '../support/json.ts';

/**
 * Who finds what of a picture, whose link is known to everybody: `all`; `pass`: who has the password; `-`: nobody. The uploader, with the
 * delete token, finds no more than others do. It is in an album, too: `album` is the page of that, where a `card` tells of the picture
 * without showing it, `zip` its file, `preview` what other sites show of the album, and `json` how the API lists it; `robots` and `kept`
 * tell whether search engines and caches may have that page. Under `stats` it is counted as what it says; under
 * `hook` stand the URLs that the operator is told of when it is stored.
 */
const WHO_SEES_WHAT = `
                               page name og  file save ?w=  chat auto info oembed list search gallery album zip  preview json    robots kept stats     hook
public                         all  all  all all  all  all  all  all  all  all    all  all    all     all   all  all     shown   all    all  public    urls
unlisted                       all  all  all all  all  all  all  all  all  all    -    -      -       all   all  all     shown   -      all  unlisted  urls
protected                      pass pass -   pass pass pass pass pass pass pass   -    -      -       pass  pass -       locked  -      -    protected urls
public, expires                all  all  all all  all  all  all  all  all  all    all  all    all     all   all  all     shown   all    all  public    urls
unlisted, expires              all  all  all all  all  all  all  all  all  all    -    -      -       all   all  all     shown   -      all  unlisted  urls
protected, expires             pass pass -   pass pass pass pass pass pass pass   -    -      -       pass  pass -       locked  -      -    protected urls
public, expired                -    -    -   -    -    -    -    -    -    -      -    -      -       -     -    -       -       all    all  public    urls
unlisted, expired              -    -    -   -    -    -    -    -    -    -      -    -      -       -     -    -       -       all    all  unlisted  urls
protected, expired             -    -    -   -    -    -    -    -    -    -      -    -      -       -     -    -       -       all    all  protected urls
public, removed                -    -    -   -    -    -    -    -    -    -      -    -      -       -     -    -       -       all    all  -         urls
few views                      all  all  -   all  all  -    -    all  all  -      -    -      -       card  -    -       limited -      -    unlisted  none
few views, protected           pass pass -   pass pass -    -    pass pass -      -    -      -       -     -    -       locked  -      -    protected none
few views, expires             all  all  -   all  all  -    -    all  all  -      -    -      -       card  -    -       limited -      -    unlisted  none
few views, protected, expires  pass pass -   pass pass -    -    pass pass -      -    -      -       -     -    -       locked  -      -    protected none
few views, expired             -    -    -   -    -    -    -    -    -    -      -    -      -       -     -    -       -       all    all  unlisted  none
few views, protected, expired  -    -    -   -    -    -    -    -    -    -      -    -      -       -     -    -       -       all    all  protected none
few views, burnt               -    -    -   -    -    -    -    -    -    -      -    -      -       -     -    -       -       all    all  -         none
few views, protected, burnt    -    -    -   -    -    -    -    -    -    -      -    -      -       -     -    -       -       all    all  -         none
public, now unlisted           all  all  all all  all  all  all  all  all  all    -    -      -       all   all  all     shown   -      all  unlisted  urls
public, now protected          pass pass -   pass pass pass pass pass pass pass   -    -      -       pass  pass -       locked  -      -    protected urls
protected, now public          all  all  all all  all  all  all  all  all  all    all  all    all     all   all  all     shown   all    all  public    urls
`;

const hosts = imageHosts();
const picture = new Uint8Array(await photo(200, 100));

/** A picture in an album. */
type Placed = UploadAnswer & { album: string };

const NAME = 'quiet-harbour.png';
const PASSWORD = 'open sesame';
const PEOPLE = { stranger: {}, pass: { 'x-image-password': PASSWORD } };

const isPicture = async (answer: Response) =>
  (await answer.bytes()).length > 0 &&
  answer.ok &&
  (answer.headers.get('content-type') ?? '').startsWith('image/');
const tells = (words: string) => async (answer: Response) => (await answer.text()).includes(words);

/** The ways to a picture, and whether an answer shows what they lead to. */
const WAYS: Record<
  string,
  (image: UploadAnswer) => [path: string, shows: (answer: Response) => Promise<boolean>]
> = {
  page: ({ url }) => [pathOf(url), async (answer) => answer.ok && !(await tells('id="password"')(answer))],
  name: ({ url }) => [pathOf(url), tells(NAME)],
  og: ({ url }) => [pathOf(url), tells('og:image')],
  file: ({ raw_url }) => [pathOf(raw_url), isPicture],
  save: ({ raw_url }) => [`${pathOf(raw_url)}?download=1`, isPicture],
  '?w=': ({ raw_url }) => [`${pathOf(raw_url)}?w=160`, isPicture],
  chat: ({ url }) => [`${pathOf(url)}/preview.jpg`, isPicture],
  auto: ({ url }) => [`${pathOf(url)}?auto`, isPicture],
  info: ({ id }) => [`/api/info/${id}`, tells(NAME)],
  oembed: ({ url }) => [`/oembed?url=${encodeURIComponent(url)}`, tells(NAME)],
  list: ({ id }) => ['/api/list', tells(id)],
  search: ({ id }) => ['/api/search?q=quiet', tells(id)],
  gallery: ({ id }) => ['/gallery', tells(id)],
};

/** The host, and a picture in it that has become what the words say. */
async function becomes(words: readonly string[], events: ImageEvent[]): Promise<[ImageHost, Placed]> {
  const host = await hosts.start({
    change: () => ({ onEvent: (event) => events.push(event) }),
  });
  const query = new URLSearchParams({ filename: NAME });
  const [first = ''] = words;
  const isProtected = words.includes('protected');
  if (isProtected) query.set('password', PASSWORD);
  if (first === 'few views') query.set('max_views', words.includes('burnt') ? '1' : '50');
  else if (first !== 'protected') query.set('visibility', first);
  if (words.some((word) => word.startsWith('expire'))) query.set('expires_in', '10m');
  const album = await json<{ id: string; token: string }>(await host.send('/api/albums', { method: 'POST' }));
  query.set('album', album.id);
  const answer = await host.send(`/api/upload?${query}`, {
    method: 'POST',
    body: picture,
    headers: { 'x-album-token': album.token },
  });
  expect(answer.status).toBe(201);
  const image: Placed = { ...(await json<UploadAnswer>(answer)), album: album.id };
  const change = async (wish: object) => {
    const init = asJson('PATCH', wish, { 'x-delete-token': image.delete_token });
    const answer = await host.send(`/api/image/${image.id}`, init);
    expect(answer.status).toBe(200);
  };
  if (words.includes('expired')) host.clock.ms += 10 * 60_000;
  if (words.includes('removed'))
    await host.service.remove(image.id, { peer: null, token: image.delete_token, admin: false });
  if (words.includes('burnt'))
    await (await host.send(pathOf(image.raw_url), { headers: isProtected ? PEOPLE.pass : {} })).bytes();
  if (words.includes('now unlisted')) await change({ visibility: 'unlisted' });
  if (words.includes('now protected')) await change({ visibility: 'protected', password: PASSWORD });
  if (words.includes('now public')) await change({ visibility: 'public' });
  return [host, image];
}

/** What the table should say of it in its album. */
async function seenInAlbum(host: ImageHost, image: Placed): Promise<Record<string, string>> {
  const stranger = await sightOf(host.send, image.album, image);
  const opened = await host.send(pathOf(image.url), {
    method: 'POST',
    body: new URLSearchParams({ password: PASSWORD }),
  });
  const cookies = opened.headers.getSetCookie().map((cookie) => cookie.split(';')[0]);
  const pass = await sightOf(host.send, image.album, image, cookies.join('; '));
  const who = (sees: (sight: AlbumSight) => boolean) => (sees(stranger) ? 'all' : sees(pass) ? 'pass' : '-');
  return {
    album: stranger.page === 'limited' ? 'card' : who(({ page }) => page === 'shown'),
    zip: who(({ zip }) => zip),
    preview: who(({ preview }) => preview),
    json: stranger.json === 'absent' ? '-' : stranger.json,
    robots: who(({ indexed }) => indexed),
    kept: who(({ kept }) => kept),
  };
}

/** What the table should say of a picture. */
async function seen(host: ImageHost, image: Placed): Promise<Record<string, string>> {
  const found: Record<string, string> = {};
  for (const [way, lookAt] of Object.entries(WAYS)) {
    const [path, shows] = lookAt(image);
    const who = async (headers: Record<string, string>) => shows(await host.send(path, { headers }));
    const [stranger, pass] = [await who(PEOPLE.stranger), await who(PEOPLE.pass)];
    found[way] = stranger ? 'all' : pass ? 'pass' : '-';
    expect([way, await who({ 'x-delete-token': image.delete_token })]).toEqual([way, stranger]);
  }
  const {
    images,
    protected: locked,
    unlisted,
  } = await json<Record<string, number>>(await host.send('/api/stats'));
  Object.assign(found, await seenInAlbum(host, image));
  found.stats = images === 0 ? '-' : locked ? 'protected' : unlisted ? 'unlisted' : 'public';
  return found;
}

const [head = '', ...rows] = WHO_SEES_WHAT.slice(1).trimEnd().split('\n');
const ways = head.trim().split(/ +/);

const cellsOf = (row: string) => row.trim().split(/ +/);

/** Where the cells begin in each line. */
const MARGIN = WHO_SEES_WHAT.indexOf('page') - 1;

test.each(rows.map((row) => [row.slice(0, MARGIN).trim(), ...cellsOf(row.slice(MARGIN))]))(
  'nobody sees what is not theirs: %s',
  async (name, ...cells) => {
    const events: ImageEvent[] = [];
    const [host, image] = await becomes(name.split(', '), events);
    try {
      const [stored] = events;
      const hook = stored ? eventView(stored.image, '').urls : [];
      const found = { ...(await seen(host, image)), hook: hook.length > 0 ? 'urls' : 'none' };
      expect(found).toEqual(
        Object.fromEntries(ways.map((way, place) => [way, cells[place]])) as typeof found,
      );
      expect(JSON.stringify(stored && eventView(stored.image, ''))).not.toContain('scrypt');
    } finally {
      await host.stop();
    }
  },
);
