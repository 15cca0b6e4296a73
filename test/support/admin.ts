export const ADMIN_TOKEN = 'the-token-of-the-administrator';

/** The header for a server with that `ADMIN_TOKEN`. */
export const ADMIN = { authorization: `Bearer ${ADMIN_TOKEN}` };
