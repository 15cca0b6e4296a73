const HIDDEN = '***';
/** Settings that are secret as a whole. */
const SECRET = /(TOKEN|SECRET|SECRET_ACCESS_KEY|PASSWORD)$/;
/** Parameters of URLs that commonly are. */
const SECRET_PARAMETER = /([?&][\w.-]*(?:key|token|secret|passw|auth|sig)[\w.-]*=)[^&#,\s]*/gi;

/** A setting without what must not be read over a shoulder or pasted into a report. */
export function masked(name: string, value: string): string {
  if (SECRET.test(name)) return HIDDEN;
  // The address of a hook is often enough to post to it.
  if (name === 'WEBHOOK_URLS') return value.split(',').map(originOnly).join(', ');
  return value.replace(/\/\/[^@/,\s]*@/g, `//${HIDDEN}@`).replace(SECRET_PARAMETER, `$1${HIDDEN}`);
}

function originOnly(url: string): string {
  return URL.canParse(url.trim()) ? `${new URL(url.trim()).origin}/${HIDDEN}` : HIDDEN;
}
