import type { Http } from './http.ts';
import type { ImageFormat, Uploaded } from './types.ts';

export interface UploadOptions {
  /** Format to store. Default: `webp`; `auto` keeps the format. */
  format?: ImageFormat | 'auto';
  /** Password that protects the picture. */
  password?: string;
  /** Who can see it: everyone, anyone with the link, or anyone with the link and the password. */
  visibility?: 'public' | 'unlisted' | 'protected';
  /** When it expires, such as `10m` or `2w`, or `never`. */
  expiresIn?: string;
  /** Deletes the picture after this many views. */
  maxViews?: number;
  /** Larger pictures are scaled down. Default: 4096. */
  maxWidth?: number;
  maxHeight?: number;
  /** Of WebP, JPEG and AVIF, from 1 to 100. By default it follows from the picture. */
  quality?: number;
  /** Keeps EXIF metadata, including the location. Removed by default. */
  keepExif?: boolean;
  /** Replaces the file's own name. */
  filename?: string;
  /** Shown in place of the file name. */
  title?: string;
  /** What the picture shows, for people who do not see it. */
  alt?: string;
  /** Called with the number of bytes sent, and the total. A repetition begins at 0 again. */
  onProgress?: (sent: number, total: number) => void;
  signal?: AbortSignal;
  /**
   * 16 to 255 characters without spaces. Another upload with the same key, picture and options within 10 minutes resolves to what the first
   * has stored. Default: a random one for each call, which its own repetition shares.
   */
  idempotencyKey?: string;
}

/** The part of `XMLHttpRequest` used here, which only browsers have. */
interface BrowserRequest {
  readonly status: number;
  readonly responseText: string;
  readonly upload: { onprogress: ((event: { loaded: number; total: number }) => void) | null };
  onabort: (() => void) | null;
  onerror: (() => void) | null;
  onload: (() => void) | null;
  abort(): void;
  getResponseHeader(name: string): string | null;
  open(method: string, url: string): void;
  send(body: FormData): void;
  setRequestHeader(name: string, value: string): void;
}

/** Uploads a picture as a form, so that the password is in no URL. */
export async function upload(http: Http, picture: Blob, options: UploadOptions): Promise<Uploaded> {
  const { onProgress, signal } = options;
  signal?.throwIfAborted();
  const form = formOf(picture, options);
  const call = {
    method: 'POST',
    body: () => form,
    signal,
    timeoutMs: 0,
    mustHave: ['id', 'delete_token'],
    // Browsers have `randomUUID` only on pages that came over https.
    idempotencyKey: options.idempotencyKey ?? crypto.getRandomValues(new Uint32Array(4)).join('-'),
  } as const;
  if (onProgress === undefined) return http.json('/api/upload', call);
  // Browsers only report the progress of XMLHttpRequest; other runtimes read the body as a stream.
  const { XMLHttpRequest } = globalThis as { XMLHttpRequest?: new () => BrowserRequest };
  if (XMLHttpRequest !== undefined) {
    const fetch = (url: string, init: RequestInit) => {
      const request = new XMLHttpRequest();
      request.upload.onprogress = ({ loaded, total }) => onProgress(loaded, total);
      return sendFromBrowser(request, url, init);
    };
    return http.json('/api/upload', { ...call, fetch });
  }
  const whole = new Response(form);
  const type = whole.headers.get('content-type') ?? '';
  const body = await whole.blob();
  return http.json('/api/upload', {
    ...call,
    // A body without a length counts as the largest that the server takes. Deno sends none.
    headers: { 'content-type': type, 'content-length': String(body.size) },
    body: () => counted(body, onProgress),
  });
}

function formOf(picture: Blob, options: UploadOptions): FormData {
  const { filename, format, password, visibility, quality, title, alt } = options;
  const form = new FormData();
  const fields = {
    ...{ format, password, visibility, quality, title, alt },
    expires_in: options.expiresIn,
    max_views: options.maxViews,
    max_width: options.maxWidth,
    max_height: options.maxHeight,
    strip_exif: options.keepExif ? 'false' : undefined,
  };
  for (const [name, value] of Object.entries(fields)) if (value !== undefined) form.set(name, String(value));
  // In Bun, a Blob has a name as well, which may be undefined.
  form.set('image', picture, filename ?? (picture as Partial<File>).name ?? 'image');
  return form;
}

function counted(body: Blob, onProgress: (sent: number, total: number) => void): ReadableStream<Uint8Array> {
  let sent = 0;
  return body.stream().pipeThrough(
    new TransformStream<Uint8Array, Uint8Array>({
      transform(piece, controller) {
        sent += piece.byteLength;
        onProgress(sent, body.size);
        controller.enqueue(piece);
      },
    }),
  );
}

/** Does what `fetch` does. */
async function sendFromBrowser(
  request: BrowserRequest,
  url: string,
  { headers, body, signal }: RequestInit,
): Promise<Response> {
  const stop = () => request.abort();
  signal?.addEventListener('abort', stop);
  await new Promise<void>((resolve, reject) => {
    request.onabort = () => reject(signal?.reason);
    request.onerror = () => reject(new Error('the connection failed'));
    request.onload = () => resolve();
    request.open('POST', url);
    for (const [name, value] of Object.entries(headers ?? {})) request.setRequestHeader(name, value);
    request.send(body as FormData);
  }).finally(() => signal?.removeEventListener('abort', stop));
  const { status, responseText } = request;
  const retryAfter = request.getResponseHeader('retry-after');
  return new Response(responseText || null, {
    status,
    headers: retryAfter === null ? {} : { 'retry-after': retryAfter },
  });
}
