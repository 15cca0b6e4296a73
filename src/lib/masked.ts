const HIDDEN = '***';
/** Settings whose whole value is secret. */
const SECRET = /(TOKEN|SECRET|SECRET_ACCESS_KEY|PASSWORD)$/;
/** The login of a URL within a parameter. */
const INNER_LOGIN = /([?&#][\w.-]+=\w+(?::\/\/|%3A%2F%2F))[^/?#&\s]*(?:@|%40)/gi;
/** Parameters of URLs that are usually secret. */
const SECRET_PARAMETER = /([?&](?=[\w.-]*?(?:key|token|secret|passw|auth|sig))[\w.-]+=)[^&#,\s]*/gi;

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

/** Returns a text for people without what nobody should see of its URLs, also if they are misspelt. */
export function withoutSecrets(text: string): string {
  return text.replace(/[^\s"'(<][^\s"]*/g, (word) => masked('', word));
}

/** What may begin a URL: the name of a target or parameter, and a scheme. */
const BEGINNING = /^\s*([\w.-]+=)?[\w+.-]+:\/\//;
const PATH = /^\s*(?:(?:file|sqlite|unix):|[./~])/;

/**
 * Hides the login of a URL, up to its last `@`: a password may have some, and be written without encoding. What only
 * resembles a URL is hidden up to there, unless it is a path, or has no colon before it.
 */
function withoutLogin(listed: string): string {
  const [{ length: begin } = '', name = ''] = BEGINNING.exec(listed) ?? [];
  const isParsed = begin > 0 && URL.canParse(listed.trim().slice(name.length));
  const url = isParsed ? listed : listed.replaceAll('%40', '@');
  const hasLogin = url.slice(0, Math.max(0, url.lastIndexOf('@'))).includes(':');
  if (!hasLogin || (begin === 0 && PATH.test(url))) return listed;
  const path = begin + url.slice(begin).search(/[/?#]|$/);
  // A slash in a password makes no URL, or one with a part of it as the port, and the user as a host that is rarely one,
  // or, after an `@`, as the host.
  const isPort = /^(?!localhost:)[^@/?#.[]*:\d+[/?#].*[^/]@/.test(url.slice(begin));
  const isHost = url.slice(begin, path).includes('@') && url.includes('@', path);
  const isWhole = !isParsed || isPort || isHost || /^\s*(redis|rediss|postgres|postgresql):/.test(url);
  const end = isWhole ? url.length : path;
  const at = Math.max(begin, url.lastIndexOf('@', end - 1));
  const [rest, ...others] = url.slice(end).split(',');
  const shown = url.slice(0, begin) + (url[at] === '@' ? HIDDEN : '') + url.slice(at, end) + rest;
  return [shown, ...others.map(withoutLogin)].join(',');
}

function originOnly(url: string): string {
  return URL.canParse(url.trim()) ? `${new URL(url.trim()).origin}/${HIDDEN}` : HIDDEN;
}
