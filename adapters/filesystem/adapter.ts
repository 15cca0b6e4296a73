import type { FilesAdapter } from '../adapter.ts';
import { pathOf } from '../local/path.ts';

/** Image files in a folder: `file:./data/images`. */
export const filesystem: FilesAdapter = {
  schemes: ['file:'],
  shared: false,
  advice: "The server's user needs write permission for the folder.",
  path: pathOf,
  check: pathOf,

  async open(url, { runtime }) {
    const { createFolderBlobs } = await import('./blobs.ts');
    return createFolderBlobs({ folder: url.slice('file:'.length), fileBody: runtime.fileBody });
  },

  findings: async () => [],
};
