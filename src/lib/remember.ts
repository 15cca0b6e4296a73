import { BoundedMap } from './bounded-map.ts';

/**
 * Returns the function with a cache, for work that is repeated with few arguments. Beyond `most` of them the oldest
 * is forgotten. Arguments longer than `maxLength` are not remembered, because clients choose many of them.
 */
export function remember<T>(
  most: number,
  work: (key: string) => T,
  maxLength = Number.POSITIVE_INFINITY,
): (key: string) => T {
  const known = new BoundedMap<string, T>(most);
  return (key) => {
    const found = known.get(key);
    if (found !== undefined) return found;
    const made = work(key);
    if (key.length <= maxLength) known.set(key, made);
    return made;
  };
}
