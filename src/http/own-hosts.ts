/** Decides which host names of requests are the server's own. */
type IsOwnHost = (hostname: string) => boolean;

/** Names that cannot exist in public DNS, so that only the local network resolves them. */
const LOCAL_NAME = /^(?:[^.]+|.*\.(?:localhost|local|lan|home\.arpa|internal))$/;
const IPV4 = /^\d+\.\d+\.\d+\.\d+$/;

/**
 * Accepts the names of `ALLOWED_HOSTS`, or all with `*`. By default it accepts names that no attacker can point at
 * this server: literal addresses, single labels, and names under `.local`, `.lan`, `.home.arpa` and `.internal`. Any
 * other name may be an attacker's that temporarily resolves to the server's address (DNS rebinding), so that its page
 * would pass for one of ours.
 */
export function createOwnHosts(allowed: readonly string[] | undefined): IsOwnHost {
  if (allowed === undefined) return (hostname) => isLiteral(hostname) || LOCAL_NAME.test(trimmed(hostname));
  const names = new Set(allowed.map(trimmed));
  return (hostname) => names.has('*') || names.has(trimmed(hostname));
}

function isLiteral(hostname: string): boolean {
  return hostname.startsWith('[') || IPV4.test(hostname);
}

/** Returns the name in lower case, without a trailing dot. */
function trimmed(hostname: string): string {
  return hostname.toLowerCase().replace(/\.$/, '');
}
