import { createHmac } from 'node:crypto';

/** Prefix of a Standard Webhooks secret; the rest is the key in Base64. */
const PREFIX = 'whsec_';

/**
 * Returns the headers that prove the sender and time of a message, as in Standard Webhooks: the signature is an
 * HMAC-SHA256 of ID, time and body. A secret without the prefix `whsec_` is used as the key itself. `timeMs`: ms
 * since 1970.
 */
export function signedHeaders(
  secret: string,
  { id, timeMs, body }: { id: string; timeMs: number; body: string },
): Record<string, string> {
  const timestamp = String(Math.floor(timeMs / 1000));
  const key = secret.startsWith(PREFIX) ? Buffer.from(secret.slice(PREFIX.length), 'base64') : secret;
  const signature = createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64');
  return {
    'content-type': 'application/json',
    'webhook-id': id,
    'webhook-timestamp': timestamp,
    'webhook-signature': `v1,${signature}`,
  };
}
