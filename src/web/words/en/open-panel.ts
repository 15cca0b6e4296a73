/** What the settings leave open to everyone: on the home page for the operator, and in `picpool doctor`. */
export const openPanel = {
  title: 'What this server leaves open',
  lead: 'Only you see this: you are on the machine itself, or have its administrator token. Each line of .env closes one of these.',
  doors: {
    administrator:
      'There is no administrator: anyone can start a refresh or a cleanup, and nobody can moderate.',
    upload: 'Anyone who reaches the server can upload.',
    listing: 'Uploads appear in the public gallery.',
    deletion: 'A picture can be deleted from the IP address that uploaded it, without its delete token.',
    public_url: 'Links follow whatever host name a visitor uses.',
    trusted_proxies: 'No reverse proxy is trusted: behind one, all visitors would share its address.',
  },
  setting: 'setting',
  hide: 'Hide',
};
