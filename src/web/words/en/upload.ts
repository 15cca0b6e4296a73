/** The form that uploads, and what became of it. */
export const upload = {};
