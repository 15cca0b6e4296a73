/** Decides which names of a request's host are the server's own. */
export type IsOwnHost = (hostname: string) => boolean;

/** Names that cannot be in public DNS: only the local network resolves them. */
const LOCAL_NAME = /^(?:[^.]+|.*\.(?:localhost|local|lan|home\.arpa|internal))$/;
const IPV4 = /^\d+\.\d+\.\d+\.\d+$/;

/**
 * The names of `ALLOWED_HOSTS`, or `*`. Where none are given, names that no stranger can point at this server: literal
 * addresses, names of one label, and those under `.local`, `.lan`, `.home.arpa` and `.internal`. Any other name may be a
 * stranger's that resolves to the server's address for once (DNS rebinding), and its page would pass for one of ours.
 */
export function createOwnHosts(allowed: readonly string[] | undefined): IsOwnHost {
  if (allowed === undefined) return (hostname) => isLiteral(hostname) || LOCAL_NAME.test(trimmed(hostname));
  const names = new Set(allowed.map(trimmed));
  return (hostname) => names.has('*') || names.has(trimmed(hostname));
}

function isLiteral(hostname: string): boolean {
  return hostname.startsWith('[') || IPV4.test(hostname);
}

/** In lower case, without the dot that names may end with. */
function trimmed(hostname: string): string {
  return hostname.toLowerCase().replace(/\.$/, '');
}
