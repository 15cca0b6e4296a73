import { createHmac } from 'node:crypto';

/** Before a secret that Standard Webhooks has made: the rest is the key in Base64. */
const PREFIX = 'whsec_';

/**
 * The headers that let a receiver know who sent a message and when, as Standard Webhooks has them: the signature is an
 * HMAC-SHA256 of id, time and body. A secret without the prefix `whsec_` is the key as it was configured. `timeMs`: ms
 * since 1970.
 */
export function signedHeaders(
  secret: string,
  { id, timeMs, body }: { id: string; timeMs: number; body: string },
): Record<string, string> {
  const timestamp = String(Math.floor(timeMs / 1000));
  const signature = createHmac('sha256', keyOf(secret)).update(`${id}.${timestamp}.${body}`).digest('base64');
  return {
    'content-type': 'application/json',
    'webhook-id': id,
    'webhook-timestamp': timestamp,
    'webhook-signature': `v1,${signature}`,
  };
}

function keyOf(secret: string): string | Buffer {
  return secret.startsWith(PREFIX) ? Buffer.from(secret.slice(PREFIX.length), 'base64') : secret;
}
