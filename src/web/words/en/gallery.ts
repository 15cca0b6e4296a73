import { formats } from './formats.ts';

/** The gallery. */
export const gallery = {
  summary: 'Public pictures on this server, newest first.',
  search: 'Search by name, ID or format',
  filters: 'Filters',
  format: 'Format',
  anyFormat: 'Any',
  from: 'Uploaded from',
  to: 'Uploaded up to',
  show: 'Search',
  pictures: (count: number) => formats.plural(count, { one: '# public picture', other: '# public pictures' }),
  found: (count: number) => formats.plural(count, { one: '# picture found', other: '# pictures found' }),
  foundFor: (count: number, text: string) =>
    `${formats.plural(count, { one: '# picture', other: '# pictures' })} for “${text}”`,
  foundMore: (count: number, text: string) => `More than ${formats.number(count)} pictures for “${text}”`,
  newestFirst: 'Newest first',
  newest: 'Back to the newest',
  more: 'More pictures',
  none: 'No pictures match.',
  noneYet: 'No matches among the newest pictures. Older ones have not been searched yet.',
  empty: 'No public pictures yet.',
  uploadFirst: 'Upload the first one.',
};
