/** Header lines with which a client may say that it is somebody else. */
export interface ForgedHeaders {
  name: string;
  lines(victim: string, proxy: string): string[];
}

const forged = (name: string, lines: ForgedHeaders['lines']): ForgedHeaders => ({ name, lines });

/** Every form in which an address was ever written into a request. */
export const FORGED_HEADERS: readonly ForgedHeaders[] = [
  forged('X-Forwarded-For', (victim) => [`X-Forwarded-For: ${victim}`]),
  forged('twice in a list', (victim) => [`X-Forwarded-For: ${victim}, ${victim}`]),
  forged('a list that ends with the proxy', (victim, proxy) => [`X-Forwarded-For: ${victim}, ${proxy}`]),
  forged('a list of many proxies', (victim, proxy) => [
    `X-Forwarded-For: ${victim}${`, ${proxy}`.repeat(9)}`,
  ]),
  forged('two lines', (victim) => [`X-Forwarded-For: ${victim}`, `x-forwarded-for: ${victim}`]),
  forged('with a port', (victim) => [`X-Forwarded-For: ${victim}:4711`]),
  forged('in brackets', (victim) => [`X-Forwarded-For: [::ffff:${victim}]:4711`]),
  forged('mapped to IPv6', (victim) => [`X-Forwarded-For: ::ffff:${victim}`]),
  forged('in quotes', (victim) => [`X-Forwarded-For: "${victim}"`]),
  forged('empty entries', (victim) => [`X-Forwarded-For: , ${victim},`]),
  forged('tabs', (victim) => [`X-Forwarded-For:\t${victim}\t,\t${victim}\t`]),
  forged('a list of 6 KB', (victim) => [
    `X-Forwarded-For: ${Array(500).fill(victim).join(',')}`.slice(0, 6000),
  ]),
  forged('underscores', (victim) => [`X_Forwarded_For: ${victim}`, `HTTP_X_FORWARDED_FOR: ${victim}`]),
  forged('X-Real-IP', (victim) => [`X-Real-IP: ${victim}`, `X-Forwarded-For: ${victim}`]),
  forged('Forwarded', (victim) => [`Forwarded: for=${victim}`, `Forwarded: for="${victim}:80";proto=https`]),
  forged('headers of clouds', (victim) => [
    `CF-Connecting-IP: ${victim}`,
    `True-Client-IP: ${victim}`,
    `X-Client-IP: ${victim}`,
    `Fly-Client-IP: ${victim}`,
  ]),
  forged('dropped on the way', (victim) => [
    'Connection: close, X-Forwarded-For, X-Real-IP',
    `X-Forwarded-For: ${victim}`,
  ]),
  forged('the headers of an inner proxy', (victim, proxy) => [
    `X-Original-Forwarded-For: ${victim}`,
    `Via: 1.1 ${proxy}`,
    `X-Forwarded-For: ${victim}`,
    'X-Forwarded-Proto: javascript',
  ]),
];
