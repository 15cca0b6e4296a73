/** The gallery. */
export const gallery = {};
