/** Returns `12,345`, regardless of the system's language. */
export function formatCount(count: number): string {
  return Math.round(count).toLocaleString('en');
}

/** Returns `12,345 images`, `1 image`. */
export function countOf(count: number, one: string, many = `${one}s`): string {
  return `${formatCount(count)} ${count === 1 ? one : many}`;
}

/** Returns `0:05`, `12:30`, `1:02:03`. */
export function formatSpan(ms: number): string {
  const seconds = Math.round(ms / 1000);
  const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60];
  const tail = String(seconds % 60).padStart(2, '0');
  return hours > 0 ? `${hours}:${String(minutes).padStart(2, '0')}:${tail}` : `${minutes}:${tail}`;
}
