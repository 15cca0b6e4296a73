import { randomBytes } from 'node:crypto';
import { createSessions } from '../access/sessions.ts';
import { readUsage } from '../access/usage.ts';
import { createCases } from '../admin/cases.ts';
import { createDesk } from '../admin/desk.ts';
import { houseRoutes } from '../admin/house.ts';
import { type ModeratedPictures, pictureRoutes, queueRoutes } from '../admin/pictures.ts';
import { caseRoutes, type ReportParts, reportRoutes } from '../admin/report-routes.ts';
import { createIssuer, tokenRoutes } from '../admin/token-routes.ts';
import type { Config } from '../config.ts';
import type { FindingSource } from '../findings/finding.ts';
import type { Route } from '../http/route.ts';
import { picturesOf } from '../image/albums/album.ts';
import { ignoreGone } from '../image/records/missing.ts';
import { systemClock } from '../lib/clock.ts';
import { forEachBounded } from '../lib/for-each-bounded.ts';
import type { RunningFeature } from './feature.ts';
import type { Operations } from './operations.ts';
import type { Web } from './web.ts';

/** Number of reported pictures that are removed concurrently. */
const AT_ONCE = 8;

interface AdminParts {
  config: Pick<Config, 'ADMIN_TOKEN'>;
  operations: Operations;
  features: readonly RunningFeature[];
  health: readonly FindingSource[];
  web: Pick<Web, 'siteOf' | 'path' | 'openFindings'>;
}

/** Opens the pages of administrators and moderators. */
export function openAdmin({ config, operations, features, health, web }: AdminParts): Route[] {
  const { stores, tokens, holders, audit } = operations;
  const sessions = createSessions({
    ...{ state: stores.state, tokens, holders },
    adminToken: config.ADMIN_TOKEN,
    random: randomBytes,
    now: Date.now,
  });
  const desk = createDesk({ sessions, siteOf: web.siteOf, path: web.path });
  const home = `${web.path}/admin`;
  const issuing = {
    ...{ tokens, issuer: createIssuer(tokens, audit) },
    readUsage: () => readUsage(stores.state),
  };
  const pictures = features.flatMap((feature) => feature.pictures ?? []);
  return [
    ...desk.routes,
    ...pictures.flatMap((parts) => {
      const at = { ...parts, desk, audit, tokens, home };
      const reporting = openReports(parts, { operations, web, home });
      return [
        ...pictureRoutes(at),
        ...queueRoutes(at),
        ...reportRoutes(reporting),
        ...caseRoutes(desk, reporting),
      ];
    }),
    ...(pictures.length === 0 ? [desk.page('', async () => '/log')] : []),
    ...tokenRoutes(issuing),
    ...houseRoutes({
      ...{ desk, audit, health, openFindings: web.openFindings, home, ...issuing },
      stats: features.map(({ stats }) => stats),
    }),
  ];
}

function openReports(
  { service, albums, basePath }: ModeratedPictures,
  { operations, web, home }: Pick<AdminParts, 'operations' | 'web'> & { home: string },
): ReportParts {
  const { stores, audit, webhooks } = operations;
  const cases = createCases({
    ...stores,
    audit,
    clock: systemClock,
    random: randomBytes,
    onOpened: ({ subject, reports }) =>
      webhooks?.send('report.opened', { subject, reason: reports[0]?.reason }),
  });
  return {
    ...{ cases, siteOf: web.siteOf, path: web.path, basePath, home },
    async find(kind, id) {
      const found = await (kind === 'image' ? service.find(id) : albums.find(id)).catch(ignoreGone);
      return found && ('pictures' in found ? picturesOf(found) : []);
    },
    async remove(subject, pictures, log) {
      const [kind, id = ''] = subject.split(' ');
      const by = { peer: null, token: null, admin: true, log };
      const removed = kind === 'image' ? [id] : pictures;
      await forEachBounded(
        removed,
        AT_ONCE,
        async (one) => void (await service.remove(one, by).catch(ignoreGone)),
      );
      if (kind === 'album') await albums.remove(id, by, by).catch(ignoreGone);
    },
  };
}
