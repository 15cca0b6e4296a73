/** The pages of the proxy pool. */
export const proxies = {};
