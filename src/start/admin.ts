import { randomBytes } from 'node:crypto';
import type { Holders } from '../access/holders.ts';
import { createSessions } from '../access/sessions.ts';
import { readUsage } from '../access/usage.ts';
import { createDesk } from '../admin/desk.ts';
import { houseRoutes } from '../admin/house.ts';
import { pictureRoutes } from '../admin/pictures.ts';
import { queueRoutes } from '../admin/queue.ts';
import type { Config } from '../config.ts';
import type { FindingSource } from '../findings/finding.ts';
import type { Route } from '../http/route.ts';
import type { RunningFeature } from './feature.ts';
import type { Operations } from './operations.ts';
import type { Web } from './web.ts';

interface AdminParts {
  config: Pick<Config, 'ADMIN_TOKEN'>;
  operations: Operations;
  holders: Holders;
  features: readonly RunningFeature[];
  health: readonly FindingSource[];
  web: Pick<Web, 'siteOf' | 'path'>;
}

/** Opens the pages of administrators and moderators. */
export function openAdmin({ config, operations, holders, features, health, web }: AdminParts): Route[] {
  const { stores, tokens, audit } = operations;
  const sessions = createSessions({
    ...{ state: stores.state, tokens, holders },
    adminToken: config.ADMIN_TOKEN,
    random: randomBytes,
    now: Date.now,
  });
  const desk = createDesk({ sessions, siteOf: web.siteOf, path: web.path });
  const home = `${web.path}/admin`;
  const pictures = features.flatMap((feature) => feature.pictures ?? []);
  return [
    ...desk.routes,
    ...pictures.flatMap((parts) => {
      const at = { ...parts, desk, audit, home };
      return [...pictureRoutes(at), ...queueRoutes(at)];
    }),
    ...houseRoutes({
      ...{ desk, audit, tokens, health, home },
      readUsage: () => readUsage(stores.state),
      stats: features.map(({ stats }) => stats),
    }),
  ];
}
