import { errorFrom, type Http, notJson, PicpoolError } from './http.ts';
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
  /** Called with the number of bytes sent, and the total. */
  onProgress?: (sent: number, total: number) => void;
  signal?: AbortSignal;
}

/** The part of `XMLHttpRequest` used here, which only browsers have. */
interface BrowserRequest {
  readonly status: number;
  readonly responseText: string;
  readonly upload: { onprogress: ((event: { loaded: number; total: number }) => void) | null };
  onabort: (() => void) | null;
  onerror: (() => void) | null;
  onload: (() => void) | null;
  onloadend: (() => void) | null;
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
  const call = { method: 'POST', signal, timeoutMs: 0, mustHave: ['id', 'delete_token'] } as const;
  if (onProgress === undefined) {
    return http.json('/api/upload', { ...call, body: form });
  }
  // Browsers only report the progress of XMLHttpRequest; other runtimes read the body as a stream.
  const { XMLHttpRequest } = globalThis as { XMLHttpRequest?: new () => BrowserRequest };
  if (XMLHttpRequest !== undefined) {
    return sendFromBrowser(new XMLHttpRequest(), { http, form, onProgress, signal });
  }
  const whole = new Response(form);
  const type = whole.headers.get('content-type') ?? '';
  const body = await whole.blob();
  return http.json('/api/upload', {
    ...call,
    // A body without a length counts as the largest that the server takes. Deno sends none.
    headers: { 'content-type': type, 'content-length': String(body.size) },
    body: counted(body, onProgress),
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

interface BrowserUpload {
  http: Http;
  form: FormData;
  onProgress: (sent: number, total: number) => void;
  signal: AbortSignal | undefined;
}

function sendFromBrowser(
  request: BrowserRequest,
  { http, form, onProgress, signal }: BrowserUpload,
): Promise<Uploaded> {
  return new Promise((resolve, reject) => {
    const stop = () => request.abort();
    signal?.addEventListener('abort', stop);
    request.upload.onprogress = ({ loaded, total }) => onProgress(loaded, total);
    request.onabort = () => reject(signal?.reason);
    request.onerror = () => reject(new PicpoolError(`${http.url} does not answer.`));
    request.onload = () => {
      const { status, responseText } = request;
      // 202: a person looks at it first.
      if (status !== 201 && status !== 202) {
        return reject(errorFrom(status, responseText, request.getResponseHeader('retry-after')));
      }
      try {
        resolve(JSON.parse(responseText));
      } catch (error) {
        reject(notJson(http.url, status, error));
      }
    };
    request.onloadend = () => signal?.removeEventListener('abort', stop);
    request.open('POST', http.urlOf('/api/upload'));
    if (http.token !== undefined) request.setRequestHeader('authorization', `Bearer ${http.token}`);
    request.send(form);
  });
}
