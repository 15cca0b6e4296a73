import { ROLES, TOKEN_NAME } from '../access/tokens.ts';
import type { Audit } from '../audit/audit.ts';
import { inEnglish, invalidParameter } from '../errors.ts';
import type { Finding, FindingSource } from '../findings/finding.ts';
import type { Route } from '../http/route.ts';
import { ignoreGone } from '../image/records/missing.ts';
import { html } from '../web/html.ts';
import { type createDesk, formField, type Visit } from './desk.ts';
import type { TokenDesk } from './token-routes.ts';

export interface HouseDesk extends TokenDesk {
  desk: ReturnType<typeof createDesk>;
  audit: Pick<Audit, 'list'>;
  health: readonly FindingSource[];
  /** Returns what the settings leave open. */
  openFindings: () => Finding[];
  /** What the services count, by name. */
  stats: readonly (() => Promise<object>)[];
  home: string;
}

const NAME = new RegExp(TOKEN_NAME.pattern);
const LOGGED = 100;

/** The audit log; for administrators tokens, storage, jobs and findings. */
export function houseRoutes(at: HouseDesk): Route[] {
  const { desk, issuer } = at;
  return [
    desk.page('/log', (visit) => showLog(at, visit)),
    desk.page('/tokens', (visit) => showTokens(at, visit, null), 'admin'),
    desk.act(
      '/tokens',
      async (visit, body) => {
        const [name, role] = [body.get('name') ?? '', ROLES.find((one) => one === body.get('role'))];
        if (!NAME.test(name) || role === undefined) {
          throw invalidParameter('name', inEnglish(TOKEN_NAME.rule));
        }
        return showTokens(at, visit, await issuer.create(name, role, visit.by));
      },
      'admin',
    ),
    desk.act(
      '/tokens/revoke',
      async ({ by }, body) => {
        await issuer.revoke(body.get('name') ?? '', by).catch(ignoreGone);
        return '/tokens';
      },
      'admin',
    ),
    desk.page('/server', (visit) => showServer(at, visit), 'admin'),
  ];
}

async function showLog({ audit, home }: HouseDesk, { site, request }: Visit) {
  const { admin, frame } = site.words;
  const after = new URL(request.url).searchParams.get('after') ?? undefined;
  const acts = await audit.list({ limit: LOGGED, after });
  const rows = acts.map(
    (act) =>
      html`<tr><td>${site.formats.dateTime(act.at)}</td><td>${act.who}</td><td>${act.what}</td><td class="wrap">${act.subject}</td><td class="wrap">${act.why ?? ''}</td></tr>`,
  );
  const heads = [admin.log.when, admin.log.who, admin.log.what, admin.log.about, admin.reason];
  const next = acts.length === LOGGED && `${home}/log?after=${acts.at(-1)?.id}`;
  const content = html`${table(heads, rows, admin.places.log)}
${next && html`<p><a class="button quiet" rel="next" href="${next}">${frame.next}</a></p>`}`;
  return { title: admin.places.log, content };
}

/** `made`: a new token, which is shown this once. */
async function showTokens(
  { tokens, readUsage, home }: HouseDesk,
  { site, session }: Visit,
  made: string | null,
) {
  const { admin } = site.words;
  const usage = await readUsage();
  const time = (ms: number | undefined) => (ms === undefined ? '' : site.formats.dateTime(ms));
  const rows = (await tokens.list()).map(
    ({
      id,
      name,
      role,
      createdAt,
    }) => html`<tr><td><a href="${home}?token=${id}">${name}</a></td><td>${role}</td><td>${time(createdAt)}</td><td>${usage[id]?.requests ?? 0}</td><td>${time(usage[id]?.lastAt)}</td>
<td><form method="post" action="${home}/tokens/revoke">${formField(session)}<input type="hidden" name="name" value="${name}"><button class="quiet small danger" aria-label="${admin.tokens.revoke} ${name}">${admin.tokens.revoke}</button></form></td></tr>`,
  );
  const { name, role, created, uses, last, revoke } = admin.tokens;
  const content = html`${made !== null && html`<section class="banner good" role="status"><p>${admin.tokens.once}</p><p><code class="wrap">${made}</code></p></section>`}
${table([name, role, created, uses, last, revoke], rows, admin.places.tokens)}
<form class="fields" method="post" action="${home}/tokens">${formField(session)}
<p><label for="name">${name}</label><input id="name" name="name" required maxlength="64" pattern="[\\w.@\\-]+" autocomplete="off"></p>
<p><label for="role">${role}</label><select id="role" name="role">${ROLES.map((one) => html`<option>${one}</option>`)}</select></p>
<p class="wide"><button>${admin.tokens.create}</button></p></form>`;
  return { title: admin.places.tokens, content };
}

async function showServer({ health, openFindings, stats }: HouseDesk, { site }: Visit) {
  const { admin, openPanel } = site.words;
  const known: Partial<Record<string, string>> = openPanel.items;
  const found = await Promise.all(health.map(({ look, silence }) => look().catch(() => [silence])));
  const faults = [...found.flat().filter(({ level }) => level !== 'ok'), ...openFindings()];
  const counted = await Promise.all(stats.map((count) => count().catch(() => ({}))));
  const rows = Object.entries(Object.assign({}, ...counted) as Record<string, unknown>).map(
    ([name, value]) =>
      html`<div><dt>${name}</dt><dd class="wrap">${typeof value === 'object' ? JSON.stringify(value) : String(value)}</dd></div>`,
  );
  const content = html`<h2>${admin.findings}</h2>
${faults.length === 0 ? html`<p>${admin.noFindings}</p>` : html`<ul class="wrap">${faults.map(({ level, about = '', text, advice }) => html`<li><b>${level}</b> ${known[about] ?? text} ${advice}</li>`)}</ul>`}
<h2>${admin.counts}</h2><dl class="facts">${rows}</dl>`;
  return { title: admin.places.server, content };
}

function table(heads: readonly string[], rows: readonly ReturnType<typeof html>[], label: string) {
  return html`<div class="admin-table" tabindex="0" role="region" aria-label="${label}"><table><thead><tr>${heads.map((head) => html`<th scope="col">${head}</th>`)}</tr></thead><tbody>${rows}</tbody></table></div>`;
}
