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

/** Returns a text for people without the logins in it, also if they are misspelt. */
export function withoutLogins(text: string): string {
  return text.replace(/[^\s"]*:[^\s"]*@[^\s"]*/g, withoutLogin);
}

/** What may begin a URL: the name of a target or parameter, and a scheme. */
const BEGINNING = /^\s*(?:[\w.-]+=)?[\w+.-]+:\/\//;
/** A path, or what has no colon before its last `@`: a name, or a mail address. */
const HARMLESS = /^\s*(?:(?:file|sqlite|unix):|[./~]|[^:]*@[^@]*$)/;
/** The login of a further URL without `//`. */
const FURTHER_LOGIN = /,[^,/@]*:[^,/]*@/g;

/** Hides the login of a URL, up to its last `@`: a password may have some, and be written without encoding. */
function withoutLogin(url: string): string {
  const begin = BEGINNING.exec(url)?.[0].length ?? 0;
  if (begin === 0 && HARMLESS.test(url)) return url;
  const isWhole = begin === 0 || /^\s*(redis|rediss|postgres|postgresql):/.test(url);
  const end = isWhole ? url.length : begin + url.slice(begin).search(/[/?#\s]|$/);
  const at = Math.max(begin, url.slice(0, end).lastIndexOf('@'));
  const rest = url.slice(end).replace(FURTHER_LOGIN, `,${HIDDEN}@`);
  return url.slice(0, begin) + (url[at] === '@' ? HIDDEN : '') + url.slice(at, end) + rest;
}

function originOnly(url: string): string {
  return URL.canParse(url.trim()) ? `${new URL(url.trim()).origin}/${HIDDEN}` : HIDDEN;
}
