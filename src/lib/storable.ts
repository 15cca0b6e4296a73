/**
 * Returns a text as databases keep it: Postgres stores no NUL, and `node:sqlite` reads up to the first one, so its picture takes
 * its place, here and in every search for the text.
 */
export const storable = (text: string): string => text.replaceAll('\0', '\u2400');
