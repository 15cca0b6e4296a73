/** Texts that all pages share. */
export const frame = {
  skip: 'Skip to content',
  mainNavigation: 'Main',
  nav: {
    upload: 'Upload',
    start: 'Home',
    gallery: 'Gallery',
    proxies: 'Proxies',
    api: 'API',
  },
  version: (version: string) => `picpool ${version} · times in UTC`,
  openapi: 'OpenAPI',
  reportAbuse: 'Report abuse',
  theme: 'Theme',
  themes: { system: 'System', light: 'Light', dark: 'Dark' },
  language: 'Language',
  copy: 'Copy',
  copyWhat: (what: string) => `Copy ${what}`,
  pages: 'Pages',
  previous: 'Previous',
  next: 'Next',
  offline: {
    title: 'You are offline',
    text: 'Uploading and viewing pictures needs a connection to the server.',
    again: 'Try again',
  },
  pageOf: (page: string, pages: string) => `Page ${page} of ${pages}`,
};
