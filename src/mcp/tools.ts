import { type Static, type TObject, Type } from '@sinclair/typebox';
import { AppError, inEnglish } from '../errors.ts';
import { flag, integer } from '../lib/schema.ts';

/** Calls this server's API, and returns the JSON of its answer. Rejects with the error of the API. */
export type Ask = (asked: Asked) => Promise<Answer>;

export type Answer = Record<string, unknown>;

export interface Asked {
  service: Service;
  method: 'GET' | 'POST';
  /** Relative to the base path of the service. */
  path: string;
  /** `undefined` values are left out. */
  query?: Record<string, string | number | boolean | undefined>;
  body?: object | Uint8Array<ArrayBuffer>;
}

export type Service = 'proxy' | 'image';

/** An action that agents can take with this server. */
export interface Tool {
  name: string;
  title: string;
  /** Tells the agent what it does and returns. */
  description: string;
  service: Service;
  /** True if it needs the token for writing. */
  writes: boolean;
  /** JSON Schema of its arguments. */
  input: TObject;
  /** `given` is valid according to `input`. */
  run(given: object, ask: Ask): Promise<Answer>;
}

/** Maximum size in bytes of a picture in Base64. Larger ones are uploaded with `POST /api/upload`. */
export const MAX_PICTURE_BYTES = 4 * 1024 * 1024;
const MAX_BASE64 = Math.ceil(MAX_PICTURE_BYTES / 3) * 4;

function tool<T extends TObject>(
  facts: Omit<Tool, 'input' | 'run'> & { input: T; run: (given: Static<T>, ask: Ask) => Promise<Answer> },
): Tool {
  const known = Object.keys(facts.input.properties);
  return {
    ...facts,
    run(given, ask) {
      // The API has more parameters, such as another format of the answer.
      const unknown = Object.keys(given).find((name) => !known.includes(name));
      const sentence = `There is no argument ${unknown}; there are ${known.join(', ')}.`;
      if (unknown !== undefined) throw new AppError('invalid_parameter', inEnglish(sentence));
      return facts.run(given as Static<T>, ask);
    },
  };
}

const text = (description: string, maxLength = 2000) =>
  Type.Optional(Type.String({ maxLength, description }));

export const TOOLS: readonly Tool[] = [
  tool({
    name: 'get_proxy',
    title: 'Get a proxy',
    description:
      'Recently checked public proxies, the most dependable first or at random. Their owners are unknown: send no ' +
      'secrets through them unless the connection is encrypted end to end. Report with report_proxy how they worked.',
    service: 'proxy',
    writes: false,
    input: Type.Object({
      count: Type.Optional(integer('Number of proxies.', { minimum: 1, maximum: 50, default: 1 })),
      protocol: text('http, https, socks4 or socks5, or several separated by commas.'),
      country: text('Two-letter country codes, separated by commas.'),
      anonymity: text('transparent, anonymous or elite.'),
      target: text('Site to reach, as a domain or URL. Proxies most likely to reach it come first.'),
      max_latency_ms: Type.Optional(integer('Maximum response time.', { minimum: 1 })),
      random: Type.Optional(flag('Pick at random, so that clients get different proxies.')),
    }),
    run: ({ count = 1, ...query }, ask) =>
      ask({ service: 'proxy', method: 'GET', path: '/api/v1/proxies', query: { ...query, limit: count } }),
  }),

  tool({
    name: 'test_proxy',
    title: 'Test a proxy',
    description:
      'Tests a proxy now, which takes a few seconds: whether it works, how fast, and what targets see of you. With id, tests the proxy of the ' +
      'pool and saves the result.',
    service: 'proxy',
    writes: true,
    input: Type.Object({
      ip: Type.String({ maxLength: 64, description: 'An IP address, not a host name.' }),
      port: Type.Integer({ minimum: 1, maximum: 65_535 }),
      protocol: text('http, https, socks4 or socks5. Default: http.'),
      id: Type.Optional(integer('ID of the proxy in the pool.', { minimum: 1 })),
    }),
    run: ({ id, ...proxy }, ask) =>
      ask({
        service: 'proxy',
        method: 'POST',
        path: '/api/test_proxy_quick',
        body: { ...proxy, ...(id !== undefined && { proxy_id: id }) },
      }),
  }),

  tool({
    name: 'report_proxy',
    title: 'Report on a proxy',
    description: 'Tells the pool whether a proxy worked for you. One that did not is rechecked soon.',
    service: 'proxy',
    writes: true,
    input: Type.Object({
      id: integer('ID of the proxy in the pool.', { minimum: 1 }),
      ok: flag('Whether it worked.'),
      target: text('The site that you tried to reach.'),
      error: text('What went wrong.'),
    }),
    run: ({ id, ...body }, ask) =>
      ask({ service: 'proxy', method: 'POST', path: `/api/proxy/${id}/report`, body }),
  }),

  tool({
    name: 'upload_image',
    title: 'Upload a picture',
    description:
      'Stores a picture and returns its links. The picture is unlisted: anyone with the link can see it, or with a password, anyone with both. ' +
      'delete_url, returned only once, is a page with a button that deletes it.',
    service: 'image',
    writes: true,
    input: Type.Object({
      image: Type.Optional(
        Type.String({
          maxLength: MAX_BASE64,
          description: `The file in Base64, at most ${MAX_PICTURE_BYTES} bytes; POST /api/upload takes larger ones.`,
        }),
      ),
      url: text('URL of the picture, instead of image, if this server fetches pictures.'),
      filename: text('File name.', 255),
      title: text('Title, shown in place of the file name.', 255),
      alt: text('Alternative text: what the picture shows.', 255),
      format: text('webp, jpeg, png, avif, gif or auto. Default: webp.'),
      quality: Type.Optional(
        integer('Quality of webp, jpeg and avif. Default: as the picture needs.', {
          minimum: 1,
          maximum: 100,
        }),
      ),
      password: text('Password to protect the picture with.', 1024),
      expires_in: text('Time until it is deleted, such as 1h or 30d.', 20),
      max_views: Type.Optional(integer('Number of views after which it is deleted.', { minimum: 1 })),
    }),
    run: ({ image, url, ...options }, ask) => {
      const query = { ...options, visibility: options.password ? 'protected' : 'unlisted' };
      const upload = { service: 'image', method: 'POST', path: '/api/upload' } as const;
      if ((image === undefined) === (url === undefined)) {
        throw new AppError('invalid_parameter', inEnglish('Give either image or url.'));
      }
      return url === undefined
        ? ask({ ...upload, query, body: bytesOf(image ?? '') })
        : ask({ ...upload, body: { url, ...query } });
    },
  }),

  tool({
    name: 'find_images',
    title: 'Find pictures',
    description:
      'Lists public pictures, newest first: all of them, or those whose name, ID or format contains a text.',
    service: 'image',
    writes: false,
    input: Type.Object({
      text: text('Text to search for.', 255),
      count: Type.Optional(integer('Maximum number of pictures.', { minimum: 1, maximum: 100, default: 20 })),
      cursor: text('The next of the last result, to get the pictures after it.'),
    }),
    run: ({ text: q, count = 20, cursor }, ask) =>
      ask({
        service: 'image',
        method: 'GET',
        path: q ? '/api/search' : '/api/list',
        query: { q: q || undefined, per_page: count, cursor },
      }),
  }),
];

function bytesOf(base64: string): Uint8Array<ArrayBuffer> {
  const body = base64.replace(/^data:[^,]*;base64,/i, '');
  try {
    return Uint8Array.fromBase64(body, { alphabet: /[-_]/.test(body) ? 'base64url' : 'base64' });
  } catch (cause) {
    throw new AppError('invalid_parameter', inEnglish('image must be Base64.'), { cause });
  }
}
