/** Returns a link to the current page of proxies with some parameters changed. */
export type LinkTo = (changes: Readonly<Record<string, string | null>>, anchor?: string) => string;

/** `values`: the current parameters. A parameter that becomes `null` or empty is removed. */
export function createLinks(path: string, values: Readonly<Record<string, string>>): LinkTo {
  return (changes, anchor = '') => {
    const left = Object.entries({ ...values, ...changes }).filter(
      (entry): entry is [string, string] => entry[1] !== null && entry[1] !== '',
    );
    // Commas need no escaping, and are easier to read.
    const query = new URLSearchParams(left).toString().replaceAll('%2C', ',');
    return `${path}${query && `?${query}`}${anchor && `#${anchor}`}`;
  };
}
