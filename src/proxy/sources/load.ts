import { createReadStream } from 'node:fs';
import { text as textOf } from 'node:stream/consumers';
import { pathToFileURL } from 'node:url';
import { type Static, Type } from '@sinclair/typebox';
import { ValueErrorType } from '@sinclair/typebox/errors';
import { Value } from '@sinclair/typebox/value';
import { ConfigError } from '../../errors.ts';
import { ruleOf } from '../../http/errors.ts';
import { parseForeignJson } from '../../lib/foreign-json.ts';
import { masked } from '../../lib/masked.ts';
import { EXPECTS, oneOf } from '../../lib/schema.ts';
import { PROTOCOLS, type Protocol } from '../proxy.ts';
import { CATALOGUE } from './catalogue.ts';
import { SOURCE_FORMATS, type Source, type SourceFormat } from './source.ts';

/** The built-in lists, among others. */
const BUILT_IN = 'builtin';
const URL_FORM = /^(https?|file):/i;
const URL_WORDS = 'a URL that begins with http:, https: or file:';

const entrySchema = Type.Object(
  {
    name: Type.String({ minLength: 1, maxLength: 100, [EXPECTS]: 'a text of 1 to 100 characters' }),
    url: Type.String({ pattern: URL_FORM.source, [EXPECTS]: URL_WORDS }),
    format: Type.Optional(oneOf(SOURCE_FORMATS)),
    protocol: Type.Optional(
      Type.Union([oneOf(PROTOCOLS), Type.Null()], { [EXPECTS]: `one of ${PROTOCOLS.join(', ')}, or null` }),
    ),
    logins: Type.Optional(Type.Boolean()),
  },
  { additionalProperties: false, [EXPECTS]: 'an object with name and url' },
);
const fileSchema = Type.Array(entrySchema, { minItems: 1, maxItems: 10_000 });
/** In characters; enough for as many entries. */
const LONGEST_FILE = 8_000_000;

/**
 * Returns the sources that the setting `PROXY_SOURCES` selects: the built-in ones if it is not set, those of a JSON
 * file (`[{ name, url, format, protocol, logins }]`), or of comma-separated URLs, paths of lists, and `builtin` for the
 * built-in ones. Missing formats and protocols are guessed from the URL; a list that turns out to have another format
 * is read as that. Entries with a login are accepted from files and from sources with `logins`.
 * @throws {ConfigError} with all faults at once.
 */
export async function loadSources(
  setting: string | undefined,
  readTextFile = readOpening,
): Promise<readonly Source[]> {
  if (setting === undefined || setting.trim() === '') return CATALOGUE;
  const items = setting
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '');
  const sources: Source[] = [];
  const urls: string[] = [];
  const faults = items.length === 0 ? [`must name at least one, not "${setting}"`] : [];
  for (const item of items) {
    if (item === BUILT_IN) sources.push(...CATALOGUE);
    else if (isUrl(item)) urls.push(item);
    else if (/^\w+:/.test(item)) faults.push(`must be URLs (http:, https: or file:), but has "${item}"`);
    else {
      const text = await readTextFile(item).catch(() => null);
      if (text === null) faults.push(`names a file that cannot be read: ${item}`);
      else if (CATALOGUE_FILE.test(item) || CATALOGUE_TEXT.test(text)) sources.push(...fromFile(text));
      else urls.push(pathToFileURL(item).href);
    }
  }
  sources.push(...fromUrls(urls));
  const names = sources.map(({ name }) => name);
  const twice = names.filter((name, i) => names.indexOf(name) < i);
  faults.push(...twice.map((name) => `names two lists "${name}"`));
  if (faults.length > 0) throw fault(faults);
  return sources;
}

/** A list may have any size, and is read later; a file that describes lists has a limit. */
function readOpening(path: string): Promise<string> {
  return textOf(createReadStream(path, { end: LONGEST_FILE }));
}

/** A file that describes lists, rather than being one. A line of a list may begin with `[2001:db8::1]:8080`. */
const CATALOGUE_FILE = /\.json$/i;
const CATALOGUE_TEXT = /^\ufeff?\s*(\{|\[\s*[[{\]"])/;
/** What to do about a file that describes nothing. */
const CURE = '; a list of proxies in JSON is named by its URL, file:///...';

/**
 * Returns the names of lists by the words by which users choose them, in lower case: their names, those of files
 * without folder and extension, and `builtin` for all that are built in.
 */
export function sourcesByWord(sources: readonly Source[]): Map<string, Set<string>> {
  const words = new Map<string, Set<string>>();
  for (const source of sources) {
    const { name, url } = source;
    const file = url.startsWith('file:') ? new URL(url).pathname.replace(/^.*\/|\.\w+$/g, '') : '';
    for (const word of [name, file, CATALOGUE.includes(source) ? BUILT_IN : ''].filter(Boolean)) {
      const key = word.toLowerCase();
      words.set(key, (words.get(key) ?? new Set()).add(name));
    }
  }
  return words;
}

function fromUrls(items: readonly string[]): Source[] {
  const names = new Set<string>();
  return items.map((item) => {
    const url = new URL(item);
    // A slash in a password makes the password a port and a path.
    const shown = masked('PROXY_SOURCES', item);
    const { host, pathname } = URL.canParse(shown) ? new URL(shown) : { host: shown, pathname: '' };
    const base = url.protocol === 'file:' ? url.pathname : host + pathname.replace(/\/$/, '');
    let name = base;
    for (let n = 2; names.has(name); n++) name = `${base} (${n})`;
    names.add(name);
    return { name, url: item, format: guessFormat(url), protocol: guessProtocol(url), logins: isFile(url) };
  });
}

function fromFile(text: string): Source[] {
  let entries: unknown;
  try {
    entries = parseForeignJson(text.replace(/^\ufeff/, ''), { maxLength: LONGEST_FILE });
  } catch (error) {
    throw fault([`names a file that is not JSON: ${error instanceof Error ? error.message : error}${CURE}`]);
  }
  if (!Value.Check(fileSchema, entries)) throw fault(faultsOf(entries));
  const faults: string[] = [];
  for (const [i, { name, url }] of entries.entries()) {
    if (!isUrl(url)) faults.push(`/${i}/url must be ${URL_WORDS}`);
    if (entries.findIndex((other) => other.name === name) < i)
      faults.push(`/${i}/name is taken twice: "${name}"`);
  }
  if (faults.length > 0) throw fault(faults);
  return entries.map((entry: Static<typeof entrySchema>) => {
    const url = new URL(entry.url);
    const { name, format = guessFormat(url), protocol = guessProtocol(url), logins = isFile(url) } = entry;
    return { name, url: entry.url, format, protocol, logins };
  });
}

/** Returns one sentence for each invalid value, with its path in the file. */
function faultsOf(entries: unknown): string[] {
  if (!Array.isArray(entries) || entries.length === 0)
    return [`must be a file with an array of sources${CURE}`];
  const messages = new Map<string, string>();
  for (const { type, path, schema } of Value.Errors(fileSchema, entries)) {
    const isUnknown = type === ValueErrorType.ObjectAdditionalProperties;
    const rule = isUnknown ? 'is not a field of a source' : ruleOf(schema);
    if (!messages.has(path)) messages.set(path, `${path} ${rule}`);
  }
  return [...messages.values()].slice(0, 100);
}

function fault(messages: string[]): ConfigError {
  return new ConfigError(messages.map((message) => ({ variable: 'PROXY_SOURCES', message })));
}

const isFile = ({ protocol }: URL) => protocol === 'file:';

function isUrl(text: string): boolean {
  return URL_FORM.test(text) && URL.canParse(text);
}

function guessFormat({ pathname, search }: URL): SourceFormat {
  const extension =
    /\.(\w+)$/.exec(pathname.toLowerCase())?.[1] ?? /[?&]format=(\w+)/i.exec(search)?.[1] ?? '';
  if (['json', 'ndjson', 'jsonl'].includes(extension)) return 'json';
  if (extension === 'csv') return 'csv';
  return extension === 'html' || extension === 'htm' ? 'html' : 'lines';
}

/** Returns the only protocol that path and query mention, or `null` if they mention none or several. */
function guessProtocol({ pathname, search }: URL): Protocol | null {
  const words = `${pathname}${search}`.toLowerCase().match(/(?<![a-z])(https?|socks[45])(?![a-z0-9])/g) ?? [];
  const named = PROTOCOLS.filter((protocol) => words.some((word) => word === protocol));
  return named.length === 1 ? (named[0] ?? null) : null;
}
