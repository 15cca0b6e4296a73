import { Buffer } from 'node:buffer';
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { extname } from 'node:path';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';
import { ASSETS, assetPath } from '../assets.ts';
import { acceptedIn } from '../lib/accepted.ts';

interface Encoded {
  type: string;
  plain: Uint8Array<ArrayBuffer>;
  encodings: Map<string, Uint8Array<ArrayBuffer>>;
}

/** What all pages share is sent as one style sheet, but kept in parts. A script's own sheet has its name. */
const STYLE = 'style.css';
const FOLDER = './web/client/';
const TYPES: Record<string, string> = {
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.woff2': 'font/woff2',
};
/** Already contain compressed data. */
const PACKED = new Set([TYPES['.png'], TYPES['.woff2']]);
/** Best first. */
const ENCODERS: [name: string, encode: (bytes: Uint8Array) => Uint8Array][] = [
  ['br', (bytes) => brotliCompressSync(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 11 } })],
  ['gzip', (bytes) => gzipSync(bytes, { level: 9 })],
];

/**
 * Reads the files of `src/web/client`. They are sent as they are, without their comments, which are a third of their
 * bytes: there is no build step, and each line keeps its number. All share one version, so that scripts can import each
 * other by name.
 */
export async function readAssets() {
  const names = ASSETS.filter((name) => name.startsWith(FOLDER));
  const hasScript = (sheet: string) => names.some((name) => name === sheet.replace(/css$/, 'js'));
  const files = new Map<string, Encoded>();
  const hash = createHash('sha256');
  for (const name of names) {
    const bytes = withoutComments(name, await readFile(assetPath(name)));
    hash.update(name).update(bytes);
    const type = TYPES[extname(name)] ?? 'application/octet-stream';
    const served = extname(name) === '.css' && !hasScript(name) ? STYLE : name.slice(FOLDER.length);
    const before = files.get(served)?.plain ?? new Uint8Array();
    const plain = new Uint8Array(Buffer.concat([before, bytes]));
    files.set(served, { type, plain, encodings: new Map() });
  }
  const imports = new Map([...files].map(([name, { plain }]) => [name, importsOf(name, plain)]));
  const current = hash.digest('hex').slice(0, 12);

  return {
    /** Returns the path of a file, which changes with its content: `/assets/<version>/style.css`. */
    url: (file: string) => `/assets/${current}/${file}`,

    /**
     * Returns the scripts that these import, including indirect ones. Without this list, a browser finds them one after
     * the other.
     */
    imports(scripts: readonly string[]): string[] {
      const found = new Set(scripts);
      for (const script of found) for (const one of imports.get(script) ?? []) found.add(one);
      return [...found].filter((one) => !scripts.includes(one));
    },

    /**
     * Returns the style sheets of a page with these scripts: that of all pages, and those with the names of scripts.
     */
    styles(scripts: readonly string[]): string[] {
      return [
        STYLE,
        ...scripts.map((script) => script.replace(/js$/, 'css')).filter((name) => files.has(name)),
      ];
    },

    /** Answers a request for a file, compressed if the client accepts it; `null` for an unknown file. */
    respond(file: string, version: string, accepted: string | null): Response | null {
      const found = files.get(file);
      if (!found) return null;
      const readable = acceptedIn(accepted);
      const encoder = !PACKED.has(found.type) && ENCODERS.find(([name]) => readable.has(name));
      const body = encoder ? encoded(found, encoder) : found.plain;
      // An open page of an older version gets the current file, which is not cached.
      const isCurrent = version === current;
      return new Response(body, {
        headers: {
          'content-type': found.type,
          'content-length': String(body.byteLength),
          'cache-control': isCurrent ? 'public, max-age=31536000, immutable' : 'no-cache',
          etag: `"${current}"`,
          vary: 'Accept-Encoding',
          ...(encoder && { 'content-encoding': encoder[0] }),
        },
      });
    },
  };
}

/** Files that browsers load besides pages: style sheet, scripts and icons. */
export type Assets = Awaited<ReturnType<typeof readAssets>>;

/** Lines that are comments, whole. */
const COMMENTS = /^[ \t]*(?:\/\/.*|\/\*[^*]*\*+(?:[^/*][^*]*\*+)*\/[ \t]*)$/gm;

function withoutComments(name: string, bytes: Buffer): Buffer {
  if (!['.js', '.css'].includes(extname(name))) return bytes;
  const blank = (comment: string) => comment.replace(/[^\n]+/g, '');
  return Buffer.from(bytes.toString().replace(COMMENTS, blank));
}

/** Returns what a script imports from its own folder. */
function importsOf(name: string, code: Uint8Array): string[] {
  if (extname(name) !== '.js') return [];
  const text = new TextDecoder().decode(code);
  return [...text.matchAll(/^import [^']*'\.\/([\w-]+\.js)';$|^\} from '\.\/([\w-]+\.js)';$/gm)].map(
    ([, one, other]) => one ?? other ?? '',
  );
}

/** Compressed on first request, so that the start does not wait for it. */
function encoded({ plain, encodings }: Encoded, [name, encode]: (typeof ENCODERS)[number]) {
  const known = encodings.get(name);
  if (known) return known;
  const made = new Uint8Array(encode(plain));
  encodings.set(name, made);
  return made;
}
