const HIDDEN = '***';
/** Settings whose whole value is secret. */
const SECRET = /(TOKEN|SECRET|SECRET_ACCESS_KEY|PASSWORD)$/;
/** The login of a URL within a parameter. */
const INNER_LOGIN = /([?&#][\w.-]+=\w+(?::\/\/|%3A%2F%2F))[^/?#&\s]*(?:@|%40)/gi;
/** Parameters of URLs that are usually secret. */
const SECRET_PARAMETER = /([?&][\w.-]*(?:key|token|secret|passw|auth|sig)[\w.-]*=)[^&#,\s]*/gi;

/** Returns a setting without what nobody should see over a shoulder or in a report. */
export function masked(name: string, value: string): string {
  if (SECRET.test(name)) return HIDDEN;
  // The URL of a webhook is often enough to post to it.
  if (name === 'WEBHOOK_URLS') return value.split(',').map(originOnly).join(', ');
  return value
    .split(/,(?=\s*[\w+.=-]+:\/\/)/)
    .map(withoutLogin)
    .join(',')
    .replace(INNER_LOGIN, `$1${HIDDEN}@`)
    .replace(SECRET_PARAMETER, `$1${HIDDEN}`);
}

/** Hides the login of a URL, up to its last `@`: a password may have some, and be written without encoding. */
function withoutLogin(url: string): string {
  const begin = url.indexOf('//') + 2;
  const isDatabase = /^\s*(redis|rediss|postgres|postgresql):/.test(url);
  const authority = isDatabase ? url : url.slice(0, begin + url.slice(begin).search(/[/?#\s]|$/));
  const at = authority.lastIndexOf('@');
  return begin < 2 || at < begin ? url : `${url.slice(0, begin)}${HIDDEN}${url.slice(at)}`;
}

function originOnly(url: string): string {
  return URL.canParse(url.trim()) ? `${new URL(url.trim()).origin}/${HIDDEN}` : HIDDEN;
}
