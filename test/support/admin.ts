export const ADMIN_TOKEN = 'the-token-of-the-administrator';

/** The header that a server with that `ADMIN_TOKEN` believes. */
export const ADMIN = { authorization: `Bearer ${ADMIN_TOKEN}` };
