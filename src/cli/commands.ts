import type { Command } from './command.ts';

/** A command as the table has it. */
export interface Entry {
  /** A few words for the list of commands. */
  summary: string;
  load: () => Promise<{ command: Command }>;
}

/** Every command by its name. Each is loaded when it is called, so that the others cost nothing. */
export const COMMANDS: Record<string, Entry> = {
  serve: { summary: 'start the server (the default)', load: () => import('./serve.ts') },
  check: { summary: 'test the proxies of a list, print the living', load: () => import('./check.ts') },
  gateway: { summary: 'serve one proxy in front of a list', load: () => import('./gateway.ts') },
  export: { summary: "print the server's proxies", load: () => import('./export.ts') },
  refresh: { summary: 'have the server refresh its proxies', load: () => import('./refresh.ts') },
  upload: { summary: 'upload images, print their links', load: () => import('./upload.ts') },
  delete: { summary: 'delete images that were uploaded from here', load: () => import('./delete.ts') },
  cleanup: { summary: 'have the server remove idle images', load: () => import('./cleanup.ts') },
  sweep: { summary: 'show, or put away, image files without a record', load: () => import('./sweep.ts') },
  'restore-strays': {
    summary: 'take image files out of quarantine',
    load: () => import('./restore-strays.ts'),
  },
  migrate: { summary: 'copy everything to other stores', load: () => import('./migrate.ts') },
  token: { summary: 'make, list and revoke tokens', load: () => import('./token.ts') },
  keys: { summary: 'give the server new keys to sign with', load: () => import('./keys.ts') },
  sources: {
    summary: 'print the lists in force, or what is wrong with them',
    load: () => import('./sources.ts'),
  },
  config: { summary: 'print the settings in force', load: () => import('./config.ts') },
  doctor: { summary: 'find what is wrong with this set-up', load: () => import('./doctor.ts') },
  health: {
    summary: 'ask the server of these settings whether it is ready',
    load: () => import('./health.ts'),
  },
};
