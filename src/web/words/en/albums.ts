/** Albums. */
export const albums = {};
