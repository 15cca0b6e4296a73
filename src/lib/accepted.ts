/**
 * Returns the values that `Accept` or `Accept-Encoding` names and does not refuse by `q=0`, in lower case. Wildcards are
 * not expanded: `image/*` does not show what a client can really read.
 */
export function acceptedIn(header: string | null): Set<string> {
  return new Set(
    (header ?? '')
      .toLowerCase()
      .split(',')
      .map((part) => part.split(';').map((piece) => piece.trim()))
      .filter(([, ...options]) => !options.some((option) => /^q=0(\.0*)?$/.test(option)))
      .map(([value = '']) => value),
  );
}
