import type { Plural } from '../formats.ts';

/** Albums. */
export const albums = {
  untitled: 'Album',
  pictures: { one: '# picture', other: '# pictures' } as Plural,
  locked: {
    one: '# picture needs a password. Open it once, then come back.',
    other: '# pictures need a password. Open each once, then come back.',
  } as Plural,
  downloadAll: 'Download all',
  downloadSome: (some: string, all: string) => `Download ${some} of ${all}`,
  empty: 'No pictures here yet.',
  noSuchPage: 'This album has fewer pages.',
  link: 'Link to this album',
  lockedTile: 'Protected',
  lockedFacts: 'Password required',
  viewsLeft: { one: '# view left', other: '# views left' } as Plural,
};
