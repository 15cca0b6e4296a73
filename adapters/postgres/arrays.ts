import type { Value } from './connection.ts';

/** Returns an array as a literal of SQL. */
export function arrayOf(values: readonly Value[]): string {
  return `{${values.map(element).join(',')}}`;
}

function element(value: Value): string {
  if (value === null) return 'NULL';
  return typeof value === 'string' ? `"${value.replace(/["\\]/g, '\\$&')}"` : String(value);
}
