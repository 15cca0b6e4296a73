import { createHash, timingSafeEqual } from 'node:crypto';

/** Compares texts with a secret in constant time. If there is no secret, no text matches. */
export function isSecret(secret: string | undefined): (given: string | null) => boolean {
  if (secret === undefined) return () => false;
  const expected = sha256(secret);
  return (given) => given !== null && timingSafeEqual(Buffer.from(sha256(given)), Buffer.from(expected));
}

/** Returns the SHA-256 of a text in hexadecimal. */
export function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
