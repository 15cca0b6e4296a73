/** The page of the API. */
export const api = {};
