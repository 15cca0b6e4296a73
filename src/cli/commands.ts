import type { Command } from './command.ts';

interface Entry {
  /** A few words for the list of commands. */
  summary: string;
  load: () => Promise<{ command: Command }>;
}

/** Every command by name. Each is loaded only when it is called. */
export const COMMANDS: Record<string, Entry> = {
  serve: { summary: 'start the server (the default)', load: () => import('./serve.ts') },
  check: { summary: 'test a list of proxies and print those that work', load: () => import('./check.ts') },
  gateway: { summary: 'run one proxy in front of a list', load: () => import('./gateway.ts') },
  export: { summary: "print the server's proxies", load: () => import('./export.ts') },
  refresh: { summary: 'start a refresh of the pool', load: () => import('./refresh.ts') },
  upload: { summary: 'upload images and print their links', load: () => import('./upload.ts') },
  delete: { summary: 'delete images that were uploaded from here', load: () => import('./delete.ts') },
  cleanup: { summary: 'delete images that are no longer opened', load: () => import('./cleanup.ts') },
  sweep: { summary: 'show or quarantine image files without a record', load: () => import('./sweep.ts') },
  backup: { summary: 'back up records and images', load: () => import('./backup.ts') },
  restore: { summary: 'restore a backup', load: () => import('./restore.ts') },
  migrate: { summary: 'copy everything to other stores', load: () => import('./migrate.ts') },
  token: { summary: 'create, list and revoke tokens', load: () => import('./token.ts') },
  log: { summary: 'print the audit log', load: () => import('./log.ts') },
  keys: { summary: 'create new signing keys for the server', load: () => import('./keys.ts') },
  sources: { summary: 'print the proxy lists', load: () => import('./sources.ts') },
  config: { summary: 'print the current settings', load: () => import('./config.ts') },
  doctor: { summary: 'find problems with this setup', load: () => import('./doctor.ts') },
  health: { summary: 'check whether the local server is ready', load: () => import('./health.ts') },
};
