import { type Finding, fail, ok, unknown, warn } from '../findings/finding.ts';
import { unbracketed } from '../lib/address.ts';
import { foreignRecord, isRecord } from '../lib/foreign-json.ts';
import { once } from '../lib/once.ts';
import { isAnswered } from '../start/listen.ts';
import { readText, reasonOf } from './client.ts';
import { CommandError, usageError } from './exit.ts';

const TIMEOUT_MS = 10_000;
/** An address reserved for documentation, which nobody has. */
const FORGED = '192.0.2.77';
const FOREIGN = 'https://elsewhere.example';
const CONNECT_MS = 3000;

/** @throws {CommandError} if the URL is invalid, or has a user, a query or a fragment. */
export function exposedAt(text: string, port: number) {
  const url = publicUrl(text);
  return {
    /** Scheme, host and port, with the base path if there is one, without a trailing slash. */
    url,
    /** Port of the server itself, which only the reverse proxy should be able to reach. */
    port,
    /** Returns the API description, or `null` if none is served: a proxy in front may withhold it. */
    readApi: once(() => readApi(url)),
  };
}

/** A server as it can be reached from outside. */
type Exposed = ReturnType<typeof exposedAt>;

function publicUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || !/^https?:$/.test(url.protocol) || url.username || url.search || url.hash) {
    throw usageError(`--exposed takes the public URL of the server, not "${text}".`);
  }
  return url.href.replace(/(?<!\/)\/+$/, '');
}

async function ask(url: string, init: RequestInit = {}) {
  try {
    const answer = await fetch(url, { redirect: 'manual', signal: AbortSignal.timeout(TIMEOUT_MS), ...init });
    return { status: answer.status, headers: answer.headers, text: await readText(answer) };
  } catch (error) {
    if (error instanceof CommandError) throw error;
    throw new CommandError(`${url} does not respond (${reasonOf(error)}).`);
  }
}

/** Rejects if no picpool server answers, because the other checks would then be about another server. */
export async function demandServer({ url }: Exposed): Promise<void> {
  const { status, text } = await ask(`${url}/livez`);
  if (status === 200 && fieldOf(text, 'success') === true) return;
  throw new CommandError(`There is no working picpool server at ${url} (${status}).`);
}

/** The API description has some 200,000 characters, and is the deepest answer. */
const LIMITS = { maxLength: 2_000_000, maxDepth: 32 };

function fieldOf(text: string, name: string): unknown {
  return foreignRecord(text, LIMITS)?.[name];
}

interface Operation {
  security?: Record<string, unknown>[];
}

interface Api {
  servers?: { url?: string }[];
  paths: Record<string, { post?: Operation }>;
}

async function readApi(url: string): Promise<Api | null> {
  const { text } = await ask(`${url}/openapi.json`);
  const paths = fieldOf(text, 'paths');
  return isRecord(paths) ? ({ servers: fieldOf(text, 'servers'), paths } as Api) : null;
}

const UNDESCRIBED = unknown('cannot be seen from outside: there is no API description at /openapi.json');

/** Returns the URL of an endpoint, which may be below the base path of its service; `null` if its service is off. */
async function urlOf(exposed: Exposed, endpoint: string): Promise<string | null> {
  const api = await exposed.readApi();
  const path = api === null ? endpoint : Object.keys(api.paths).find((one) => one.endsWith(endpoint));
  return path === undefined ? null : exposed.url + path;
}

async function checkTls({ url }: Exposed): Promise<Finding> {
  if (!url.startsWith('https:')) {
    const advice =
      'Put a reverse proxy with a certificate in front; examples/Caddyfile obtains one automatically.';
    return fail('passwords and tokens travel unencrypted', advice);
  }
  await ask(`${url}/livez`);
  if (new URL(url).port !== '') return ok('the certificate is valid');
  const plain = await ask(url.replace(/^https:/, 'http:')).catch(() => null);
  const leads = plain === null || plain.headers.get('location')?.startsWith('https:');
  if (leads) return ok('the certificate is valid, and plain HTTP redirects to it or is closed');
  return warn('plain HTTP also works', 'Have the proxy redirect it to HTTPS.');
}

async function checkProxy({ url }: Exposed): Promise<Finding> {
  // A reverse proxy that no setting names is noticed by a request that it has forwarded.
  await ask(`${url}/api/status`);
  const { text } = await ask(`${url}/readyz`);
  const degraded = fieldOf(text, 'degraded');
  const unnamed = Array.isArray(degraded) && degraded.find((one) => String(one).includes('TRUSTED_PROXIES'));
  if (unnamed) return fail(String(unnamed), 'Name its address in TRUSTED_PROXIES.');
  return ok('every proxy in front is listed in the settings');
}

async function checkForged(exposed: Exposed): Promise<Finding> {
  const judge = await urlOf(exposed, '/api/judge');
  if (judge === null) return unknown('cannot be seen from outside: the proxy pool is off');
  const forged = { 'x-forwarded-for': FORGED, 'x-real-ip': FORGED, forwarded: `for=${FORGED}` };
  const { status, text } = await ask(`${judge}?token=exposed`, { headers: forged });
  if (status !== 200) return unknown(`cannot be seen from outside: the judge answers ${status}`);
  if (fieldOf(text, 'address') !== FORGED) return ok('forged addresses are ignored');
  const advice = 'TRUSTED_PROXIES must name only the proxy in front, which must replace X-Forwarded-For.';
  return fail('a visitor can forge any address', advice);
}

async function checkPastProxy({ url, port }: Exposed): Promise<Finding> {
  const { hostname, port: own, protocol } = new URL(url);
  if (Number(own || (protocol === 'https:' ? 443 : 80)) === port) {
    return warn(
      `port ${port} of the server itself is open to everyone`,
      'Put a reverse proxy in front, and set HOST=127.0.0.1.',
    );
  }
  const isThere = await isAnswered({ host: unbracketed(hostname), port, timeout: CONNECT_MS });
  if (!isThere) return ok(`port ${port} cannot be reached past the proxy`);
  return fail(
    `port ${port} can be reached past the proxy`,
    'Set HOST=127.0.0.1, or close the port to the outside.',
  );
}

async function checkLinks({ url, readApi }: Exposed): Promise<Finding> {
  const api = await readApi();
  if (api === null) return UNDESCRIBED;
  const base = api.servers?.[0]?.url ?? '/';
  if (base === '/') return fail('links use the host name of each request', `Set PUBLIC_URL=${url}.`);
  if (base.replace(/(?<!\/)\/+$/, '') === url) return ok(`links begin with ${base}`);
  return warn(`links begin with ${base}, not with ${url}`, 'Check PUBLIC_URL.');
}

async function checkAdmin({ readApi }: Exposed): Promise<Finding> {
  const paths = Object.entries((await readApi())?.paths ?? {});
  const jobs = paths.filter(([path]) => /\/api\/(refresh|cleanup)$/.test(path));
  if (jobs.length === 0) return UNDESCRIBED;
  // An empty requirement stands for no token.
  const isOpen = ({ security = [{}] }: Operation) => security.some((one) => Object.keys(one).length === 0);
  if (!jobs.some(([, { post }]) => post && isOpen(post))) return ok('refresh and cleanup need a token');
  return fail('anyone can start a refresh or a cleanup, and nobody can moderate', 'Set ADMIN_TOKEN.');
}

async function checkMetrics({ url }: Exposed): Promise<Finding> {
  const { status, text } = await ask(`${url}/metrics`);
  if (status !== 200 || !text.includes('picpool_')) return ok('not open to everyone');
  return fail('open to everyone', 'Set METRICS_TOKEN, or refuse /metrics in the proxy.');
}

async function checkPages(exposed: Exposed): Promise<Finding> {
  const upload = (await urlOf(exposed, '/api/upload')) ?? `${exposed.url}/api/upload`;
  const { status } = await ask(upload, { method: 'POST', headers: { origin: FOREIGN } });
  if (status === 403 || status === 404) return ok('pages of other sites cannot change anything');
  const advice = 'The proxy must pass on Origin and Sec-Fetch-Site. Is CORS_ORIGINS set to *?';
  return fail('pages of other sites can upload and delete on behalf of their visitors', advice);
}

async function checkLimits({ url }: Exposed): Promise<Finding> {
  const { headers } = await ask(`${url}/livez`);
  if (headers.has('ratelimit-limit')) return ok('requests are limited');
  return fail('requests are not limited', 'Set RATE_LIMITS=on.');
}

async function checkUploads(exposed: Exposed): Promise<Finding> {
  const upload = await urlOf(exposed, '/api/upload');
  if (upload === null) return ok('not possible: the image host is off');
  const { status } = await ask(upload, { method: 'POST' });
  if (status === 404) return UNDESCRIBED;
  if (status === 401) return ok('only holders of a token can upload');
  const { text } = await ask(upload.replace(/upload$/, 'stats'));
  if (typeof fieldOf(text, 'abuse_contact') === 'string')
    return ok('anyone can upload, and a contact for abuse reports is shown');
  return warn(
    'anyone can upload, and no contact for abuse reports is shown',
    'Set ABUSE_CONTACT, or UPLOAD=token.',
  );
}

/** What can be seen from outside of the lines of `docs/exposing.md`, in the same order. */
export const EXPOSED_CHECKS: Record<string, (exposed: Exposed) => Promise<Finding>> = {
  encryption: checkTls,
  'proxy in front': checkProxy,
  'forged addresses': checkForged,
  'direct access': checkPastProxy,
  links: checkLinks,
  administrator: checkAdmin,
  metrics: checkMetrics,
  'other sites': checkPages,
  limits: checkLimits,
  uploads: checkUploads,
};
