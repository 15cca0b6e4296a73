/** Texts that all pages share. */
export const frame = {
  skip: 'Skip to content',
  mainNavigation: 'Main',
  nav: {
    upload: 'Upload',
    gallery: 'Gallery',
    proxies: 'Proxies',
    api: 'API',
  },
  version: (version: string) => `picpool ${version}`,
  /** Not said where a script shows local times. */
  utc: 'times in UTC',
  openapi: 'OpenAPI',
  integrations: 'Other programs',
  reportAbuse: 'Report abuse',
  contact: {
    title: 'Contact and rules',
    lead: 'To report a picture, open it and press Report. For everything else, write to:',
  },
  language: 'Language',
  copy: 'Copy',
  copyWhat: (what: string) => `Copy ${what}`,
  pages: 'Pages',
  previous: 'Previous',
  next: 'Next',
  pageOf: (page: string, pages: string) => `Page ${page} of ${pages}`,
};

/** What the settings leave open to everyone: on the home page for the operator, and in `picpool doctor`. */
export const openPanel = {
  title: 'What this server leaves open',
  lead: 'Only you can see this, because you are on this machine. To close an item, add its line to .env.',
  items: {
    administrator:
      'No administrator token is set: anyone can start a refresh or a cleanup, and nobody can moderate.',
    upload: 'Anyone who can reach the server can upload.',
    listing: 'Uploads appear in the public gallery.',
    deletion: 'A picture can be deleted without its delete token from the IP address that uploaded it.',
    public_url: 'Links use the host name of each request.',
    trusted_proxies: 'No reverse proxy is trusted: behind one, all visitors would share its IP address.',
  },
  setting: 'setting',
};
