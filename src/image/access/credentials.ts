import { Buffer, isUtf8 } from 'node:buffer';

/** The credentials of a request for a protected image. */
export interface Credentials {
  password: string | null;
  /** The `Cookie` header. */
  cookie: string | null;
}

/** Reads the credentials of a request: `X-Image-Password` before `?password=`, and a cookie. */
export function credentialsOf(request: Request): Credentials {
  const { headers } = request;
  const header = headers.get('x-image-password');
  const query = request.url.includes('?') ? new URL(request.url).searchParams.get('password') : null;
  return { password: (header && decodeHeader(header)) || query || null, cookie: headers.get('cookie') };
}

/** Headers arrive with one character per byte, but what people type into `curl -H` is UTF-8, or else Latin-1. */
function decodeHeader(value: string): string {
  const bytes = Buffer.from(value, 'latin1');
  return /^[\u0000-\u00ff]*$/.test(value) && isUtf8(bytes) ? bytes.toString() : value;
}
