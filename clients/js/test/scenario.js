/**
 * What a user of the client does with a server, in any runtime. Answers what was done; throws where something is not as it should be.
 * The server has a pool of more than 500 dead proxies and some living ones, and takes `token` for the administrator's.
 */
export async function scenario({ createPicpool, isBan, PicpoolError, proxyUrl, throughPool }, url, token) {
  const picpool = createPicpool(url, { token });
  const done = [];
  const check = (name, fact) => {
    if (!fact) throw new Error(`not as it should be: ${name}`);
    done.push(name);
  };

  const { alive, total: known } = await picpool.stats();
  const ids = new Set();
  for await (const { id } of picpool.proxies({ status: 'dead' })) ids.add(id);
  check('every proxy over pages', ids.size === known - alive && ids.size > 500);
  const few = await picpool.someProxies(3, { protocol: ['socks4', 'socks5'], sort: 'response_time' });
  check('filters', few.length === 3 && few.every(({ protocol }) => protocol.startsWith('socks')));
  check('a line for clients', new URL(proxyUrl(few[0])).port === String(few[0].port));
  check('one proxy', (await picpool.proxy(few[0].id)).ip === few[0].ip);
  await picpool.report(few[0], { ok: false, target: 'example.com', error: 'timeout' });
  check('a report', true);
  const refused = await picpool.someProxies(-1).catch((error) => error);
  check(
    'a refusal in words',
    refused instanceof PicpoolError && refused.status === 400 && refused.details[0].field === 'limit',
  );

  await withBans(picpool, { check, isBan, throughPool });

  const picture = new Blob([new Uint8Array(70_000), pixels()].reverse(), { type: 'image/gif' });
  const progress = [];
  const onProgress = (sent, total) => progress.push([sent, total]);
  const uploaded = await picpool.upload(picture, { format: 'gif', filename: 'client é.gif', onProgress });
  const [sent, total] = progress.at(-1) ?? [];
  check('an upload with progress', uploaded.filename === 'client é.gif' && sent === total && total > 70_000);
  const hidden = await picpool.upload(picture, { format: 'png', password: 'tea', maxWidth: 100 });
  const locked = await picpool.image(hidden.id).catch((error) => error);
  check(
    'a password',
    locked.code === 'password_required' && (await picpool.image(hidden.id, 'tea')).format === 'png',
  );
  check('the file', (await picpool.imageFile(hidden, 'tea')).size === hidden.size);
  const found = [];
  for await (const image of picpool.images('client é')) found.push(image.id);
  check('a search', found.includes(uploaded.id) && !found.includes(hidden.id));
  const given = new AbortController();
  given.abort(new Error('left'));
  const left = await picpool.upload(picture, { signal: given.signal }).catch((error) => error);
  check('an upload that is left', left.message === 'left');
  await picpool.deleteImage(uploaded.id, uploaded.delete_token);
  await picpool.deleteImage(hidden.id, hidden.delete_token);
  check('deletion', (await picpool.image(uploaded.id).catch((error) => error)).status === 404);

  const job = await picpool.refresh();
  for await (const { id, state } of picpool.refreshEvents()) {
    if (id === job.id && (state === 'done' || state === 'failed')) break;
  }
  check('events of a refresh to its end', job.id !== '');
  const stopped = new AbortController();
  const events = picpool.refreshEvents(stopped.signal);
  await events.next();
  // The last refresh may still have something to tell.
  const waiting = (async () => {
    while (!(await events.next()).done);
  })().catch((error) => error);
  stopped.abort(new Error('enough'));
  check('events that are left', (await waiting).message === 'enough');
  return done;
}

/** A site that refuses the first visitor; `send` stands for the runtime's own way to use a proxy. */
async function withBans(picpool, { check, isBan, throughPool }) {
  const answer = (status, headers = {}) => new Response(null, { status, headers });
  const statuses = Array.from({ length: 400 }, (_, index) => index + 200);
  check('bans by status', `${statuses.filter((status) => isBan(answer(status)))}` === '403,429,451,503');
  const own = [{ 'X-Picpool-Error': 'no_upstream' }, { 'Proxy-Status': 'edge, picpool; error=x' }];
  check(
    'an answer of the gateway itself is not a ban',
    !own.some((headers) => isBan(answer(503, headers), { gateway: true })),
  );
  check('any other proxy can say it', own.map((headers) => answer(503, headers)).every(isBan));

  const asked = [];
  const send = async (proxy) => answer(asked.push(proxy) === 1 ? 403 : 200);
  const filter = { country: 'BV', sort: 'response_time' };
  const served = await throughPool(picpool, 'http://site.test/', send, { filter });
  check('a ban is tried elsewhere', served.status === 200 && asked.length === 2 && asked[0] !== asked[1]);
  const [refused] = await picpool.someProxies(1, filter);
  const [report] = (await picpool.proxy(refused.id)).reports;
  const { ok, target, error } = report;
  check('a ban is a failure', !ok && target === 'site.test' && error === 'status 403');
  const failing = () => Promise.reject(new Error('closed'));
  const fault = await throughPool(picpool, 'http://site.test/', failing, { filter }).catch(
    (thrown) => thrown,
  );
  check('errors of all proxies are told', fault.message === 'closed');
  asked.length = 0;
  const posted = await throughPool(picpool, 'http://site.test/', send, { filter, method: 'POST' });
  check('what changes something is sent once', posted.status === 403 && asked.length === 1);

  await withPagesOfProxies({ check, throughPool });

  asked.length = 0;
  const told = [];
  const gateway = 'http://user-country-de:secret@gate.test:8899';
  const noted = { ...picpool, reportGateway: async (...report) => void told.push(report) };
  await throughPool(noted, 'http://site.test/', send, { gateway });
  const [first, second] = asked.map(
    (proxy) => /^user-country-de-session-(\w+)$/.exec(new URL(proxy).username)?.[1],
  );
  check(
    'each try at a gateway is a session',
    first !== undefined && second !== undefined && first !== second,
  );
  const ban = { session: first, target: 'site.test', ok: false, error: 'status 403' };
  check('a ban is reported to the gateway', JSON.stringify(told) === JSON.stringify([[ban, 'secret']]));
  asked.length = 0;
  const named = 'http://Session-other-session-mine:secret@gate.test:8899';
  await throughPool(noted, 'http://site.test/', send, { gateway: named });
  check("a session of one's own", asked.length === 2 && asked.every((proxy) => proxy === named));
  check('of several sessions, the last one counts', told.at(-1)?.[0].session === 'mine');
}

/** Proxies that answer themselves, and redirects. */
async function withPagesOfProxies({ check, throughPool }) {
  const run = async (url, send, more = {}) => {
    const told = [];
    const picpool = {
      someProxies: async (count, { protocol }) =>
        [1, 2, 3].slice(0, count).map((id) => ({ id, ip: '192.0.2.1', port: id, protocol })),
      report: async ({ id }, { ok, target }) => void told.push(`${id} ${ok} ${target}`),
    };
    const end = await throughPool(picpool, url, send, more).then(({ status }) => status, String);
    return { end, told: told.join() };
  };
  const all = '1 false site.test,2 false site.test,3 false site.test';
  const by = (status, headers) => async (proxy) =>
    new Response(null, { status: proxy.endsWith('2') ? 200 : status, headers });
  const always = (status) => async () => new Response(null, { status });
  for (const status of [407, 502, 504, 511]) {
    const isSure = status === 407 || status === 511;
    const elsewhere = await run('http://site.test/', by(status));
    check(
      `${status} of a proxy is tried elsewhere`,
      elsewhere.end === 200 && elsewhere.told === '1 false site.test,2 true site.test',
    );
    const none = await run('http://site.test/', always(status));
    const expected = isSure ? `Error: The proxy itself has answered: status ${status}.` : status;
    check(`${status} of all proxies`, none.end === expected && none.told === all);
    const own = by(status, { 'X-Picpool-Error': 'no_answer' });
    const word = await run('http://site.test/', own, { gateway: 'http://gate.test:8899' });
    check(`${status} of the gateway is its word`, word.end === status);
    const posing = await run('http://site.test/', own);
    check(
      `${status} of a proxy that poses as one is not`,
      posing.end === 200 && posing.told === elsewhere.told,
    );
    const secured = await run('https://site.test/', by(status));
    check(`${status} over https`, secured.end === (isSure ? 200 : status));
  }

  const hop = async (_proxy, url) => {
    const at = new URL(url);
    const places = { 'http:': 'https://site.test/', 'https:': '/b', '/b': '//b.test/' };
    const location = places[at.pathname] ?? places[at.protocol];
    return new Response(null, { status: 302, headers: { location } });
  };
  const led = await run('http://site.test/', hop);
  check(
    'a redirect is followed within the site',
    led.end === 302 && led.told === '1 true site.test,1 true site.test,1 true site.test',
  );
  check('but not of a POST', (await run('http://site.test/', hop, { method: 'POST' })).end === 302);
  check('and not for a function that takes no URL', (await run('http://a.test/', always(301))).end === 301);
  const forever = async (_proxy, url) => new Response(null, { status: 307, headers: { location: url } });
  check('nor forever', (await run('http://a.test/', forever)).end.includes('more than 20 times'));
}

/** A GIF of one pixel. */
function pixels() {
  const base64 = 'R0lGODlhAQABAIAAAP///wAAACH5BAAAAAAALAAAAAABAAEAAAICRAEAOw==';
  return Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
}
