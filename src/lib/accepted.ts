/** Longer than any browser sends. */
const MOST_CHARS = 1000;

/**
 * Returns the values that the beginning of `Accept`, `Accept-Encoding` or `Accept-Language` names and does not refuse by
 * `q=0`, in lower case, those with the highest `q` first. Wildcards are not expanded: `image/*` does not show what a
 * client can really read.
 */
export function acceptedIn(header: string | null): Set<string> {
  return new Set(
    (header ?? '')
      .slice(0, MOST_CHARS)
      .toLowerCase()
      .split(',')
      .map((part) => part.split(';').map((piece) => piece.trim()))
      .map(([value = '', ...options]) => ({ value, q: qOf(options) }))
      .filter(({ q }) => q > 0)
      .sort((one, other) => other.q - one.q)
      .map(({ value }) => value),
  );
}

/** What cannot be read counts as wanted. */
function qOf(options: readonly string[]): number {
  const written = options.find((option) => option.startsWith('q='))?.slice(2);
  const q = Number(written ?? 1);
  return q >= 0 && q <= 1 ? q : 1;
}
