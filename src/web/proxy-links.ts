/** Where links of the page of proxies lead: to the page as it is, with some parameters changed. */
export type LinkTo = (changes: Readonly<Record<string, string | null>>, anchor?: string) => string;

/** `values`: the parameters as they are. A parameter that becomes `null` or empty goes away. */
export function createLinks(path: string, values: Readonly<Record<string, string>>): LinkTo {
  return (changes, anchor = '') => {
    const left = Object.entries({ ...values, ...changes }).filter(
      (entry): entry is [string, string] => entry[1] !== null && entry[1] !== '',
    );
    // Commas need no escaping, and read better.
    const query = new URLSearchParams(left).toString().replaceAll('%2C', ',');
    return `${path}${query && `?${query}`}${anchor && `#${anchor}`}`;
  };
}
