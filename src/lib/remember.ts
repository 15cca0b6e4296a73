import { BoundedMap } from './bounded-map.ts';

/**
 * Returns the function with a cache, for work that is repeated with few arguments. Beyond `most` of them the oldest
 * is forgotten.
 */
export function remember<T>(most: number, work: (key: string) => T): (key: string) => T {
  const known = new BoundedMap<string, T>(most);
  return (key) => {
    const found = known.get(key);
    if (found !== undefined) return found;
    const made = work(key);
    known.set(key, made);
    return made;
  };
}
