const HIDDEN = '***';
/** Settings whose whole value is secret. */
const SECRET = /(TOKEN|SECRET|SECRET_ACCESS_KEY|PASSWORD)$/;
/** Parameters of URLs that are usually secret. */
const SECRET_PARAMETER = /([?&][\w.-]*(?:key|token|secret|passw|auth|sig)[\w.-]*=)[^&#,\s]*/gi;

/** Returns a setting without what nobody should see over a shoulder or in a report. */
export function masked(name: string, value: string): string {
  if (SECRET.test(name)) return HIDDEN;
  // The URL of a webhook is often enough to post to it.
  if (name === 'WEBHOOK_URLS') return value.split(',').map(originOnly).join(', ');
  return value.replace(/\/\/[^@/,\s]*@/g, `//${HIDDEN}@`).replace(SECRET_PARAMETER, `$1${HIDDEN}`);
}

function originOnly(url: string): string {
  return URL.canParse(url.trim()) ? `${new URL(url.trim()).origin}/${HIDDEN}` : HIDDEN;
}
