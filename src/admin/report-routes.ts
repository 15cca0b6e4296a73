import { type Static, Type } from '@sinclair/typebox';
import { superseded } from '../audit/audit.ts';
import { AppError } from '../errors.ts';
import { type Description, successOf } from '../http/describe.ts';
import { type Call, form, json, type Route, route } from '../http/route.ts';
import { unkept } from '../http/unkept.ts';
import { ignoreGone } from '../image/records/missing.ts';
import { cutText } from '../image/upload/filename.ts';
import { formatTimestamp } from '../lib/clock.ts';
import { integer, listOf, oneOf, text } from '../lib/schema.ts';
import { html } from '../web/html.ts';
import { noticePage } from '../web/notice-page.ts';
import { seeOther } from '../web/page-response.ts';
import type { SiteOf } from '../web/site.ts';
import type { Cases, Decision, Verdict } from './cases.ts';
import {
  type By,
  type createDesk,
  formField,
  MAX_TEXT,
  REASONS,
  reasonField,
  reasonOf,
  statementOf,
  type Visit,
  verdictButton,
} from './desk.ts';

export interface ReportParts {
  cases: Cases;
  /** Returns the pictures of an album, none for a picture; `null` if it does not exist. */
  find: (kind: string | undefined, id: string) => Promise<readonly string[] | null>;
  /** Removes it for a moderator, with all pictures of an album, and those that it had. */
  remove: (
    subject: string,
    pictures: readonly string[],
    log: By & { why: string; statement: string },
  ) => Promise<void>;
  siteOf: SiteOf;
  /** Path of the server, of the image host, and of `/admin`. */
  path: string;
  basePath: string;
  home: string;
}

const MAX_CONTACT = 200;
const id = text('ID of 12 letters and digits.', { pattern: '^[0-9A-Za-z]{12}$' });
const reportBody = Type.Object({
  image: Type.Optional(id),
  album: Type.Optional(id),
  reason: oneOf(REASONS),
  text: Type.Optional(text('What is wrong.', { maxLength: MAX_TEXT })),
  contact: Type.Optional(
    text('Where a moderator may ask. The uploader does not see it.', { maxLength: MAX_CONTACT }),
  ),
});
const tag = 'Image host';
const subject = text('`image <id>` or `album <id>`.', { pattern: '^(image|album) [0-9A-Za-z]{12}$' });
const openCase = Type.Object({
  subject,
  since: text('When it was first reported: `YYYY-MM-DD HH:MM:SS`, UTC.'),
  count: integer('Number of reports.'),
  last: text('Names the last report. Sent with the verdict `keep`, later ones stay open.'),
  images: listOf(id, 'What the album had when it was reported. Deleted with it.'),
  reports: listOf(
    Type.Object({ reason: oneOf(REASONS), text: Type.String(), contact: Type.String() }),
    'The first four and the last, one from each network.',
  ),
});
const caseExample = {
  ...{
    subject: 'image aZ3kP9qLm2Xw',
    since: '2026-01-31 08:05:09',
    count: 1,
    last: '0f3c9a51d2',
    images: [],
  },
  reports: [{ reason: 'privacy', text: 'That is me.', contact: '' }],
};
const casesAnswer = (description: string, cases: object[]) =>
  successOf(description, { cases: Type.Array(openCase) }, { cases });
const decideBody = Type.Object({
  subject,
  verdict: oneOf(['keep', 'delete']),
  last: Type.Optional(text('`last` of the case as it was listed. Default: all reports are decided.')),
  reason: Type.Optional(oneOf(REASONS)),
  statement: Type.Optional(
    text('What the uploader is told. Default: the text for the reason.', { maxLength: MAX_TEXT }),
  ),
});
const about = {
  cases: {
    ...{ id: 'listReports', tag: 'Administration', summary: 'List reports' },
    answers: { 200: casesAnswer('The open ones, oldest first.', [caseExample]) },
  },
  decide: {
    ...{ id: 'decideReport', tag: 'Administration', summary: 'Decide about a report' },
    answers: { 200: casesAnswer('The other open ones.', []) },
    errors: [400, 404, 413],
  },
  report: {
    ...{ id: 'reportImage', tag, summary: 'Report an image or album' },
    answers: {
      201: successOf('The receipt.', {
        receipt: Type.String(),
        url: text('The page that shows whether somebody has decided.'),
      }),
    },
    errors: [400, 404, 413],
  },
  state: {
    ...{ id: 'getReport', tag, summary: 'Get the state of a report' },
    answers: {
      200: successOf('Open, or how it was decided.', { state: oneOf(['open', 'keep', 'delete']) }),
    },
    errors: [404],
  },
} satisfies Record<string, Description>;

/** Reports for everyone, over the API and on pages. */
export function reportRoutes(at: ReportParts): Route[] {
  return [
    route('POST /api/reports', (call) => reportByApi(at, call), {
      body: json(reportBody),
      limit: 'report',
      evenBlocked: true,
      about: about.report,
    }),
    route(
      'GET /api/reports/:receipt',
      async ({ params }) => unkept({ success: true, state: await at.cases.stateOf(params.receipt) }),
      { about: about.state },
    ),
    route('GET /api/admin/reports', () => listCases(at), { admin: 'or moderator', about: about.cases }),
    route('POST /api/admin/reports', (call) => decideByApi(at, call), {
      ...{ body: json(decideBody), admin: 'or moderator', about: about.decide },
    }),
    route('GET /report', (call) => askReport(at, call)),
    route('POST /report', (call) => reportByForm(at, call), {
      ...{ body: form, limit: 'report', evenBlocked: true },
    }),
    route('GET /report/:receipt', (call) => showState(at, call)),
  ];
}

async function record(
  { cases, find }: ReportParts,
  { peer }: Call['context'],
  body: Static<typeof reportBody>,
) {
  const { image, album, reason, text = '', contact = '' } = body;
  const kind = image === undefined ? 'album' : 'image';
  const id = image ?? album;
  const pictures = id === undefined ? null : await find(kind, id);
  if (pictures === null) throw new AppError('not_found', 'There is no such image.');
  return cases.report(`${kind} ${id}`, { reason, text, contact }, peer, pictures);
}

async function reportByApi(at: ReportParts, { body, context }: Call<{ body: typeof reportBody }>) {
  const receipt = await record(at, context, body);
  const url = `${context.origin}${at.path}/report/${receipt}`;
  return unkept({ success: true, receipt, url }, 201);
}

async function reportByForm(at: ReportParts, { body, context }: Call<{ body: URLSearchParams }>) {
  const [kind, id] = [body.get('kind') === 'album' ? 'album' : 'image', body.get('id') ?? ''];
  const text = body.get('text')?.trim() ?? '';
  const contact = cutText(body.get('contact')?.trim() ?? '', MAX_CONTACT);
  const receipt = await record(at, context, { [kind]: id, reason: reasonOf(body), text, contact });
  return seeOther(`${at.path}/report/${receipt}`);
}

async function askReport({ siteOf, path, find }: ReportParts, { request }: Call): Promise<Response> {
  const site = siteOf(request);
  const { reports, admin } = site.words;
  const query = new URL(request.url).searchParams;
  const kind = query.has('album') ? 'album' : 'image';
  const id = query.get(kind) ?? '';
  if ((await find(kind, id)) === null) throw new AppError('not_found', 'There is no such image.');
  const title = kind === 'album' ? reports.albumTitle : reports.title;
  const content = html`<p>${reports.lead}</p>
<form method="post" action="${path}/report" class="stack">
<input type="hidden" name="kind" value="${kind}"><input type="hidden" name="id" value="${id}">
<p><label for="reason">${admin.reason}</label>
<select id="reason" name="reason">${REASONS.map((reason) => html`<option value="${reason}">${admin.reasons[reason]}</option>`)}</select></p>
<p><label for="text">${reports.text}</label><textarea id="text" name="text" rows="5" maxlength="${MAX_TEXT}"></textarea></p>
<p><label for="contact">${reports.contact}</label><input id="contact" name="contact" type="email" maxlength="${MAX_CONTACT}" autocomplete="email"></p>
<p><button>${reports.send}</button></p></form>`;
  return noticePage(site, { title, content }, { cache: 'no-store' });
}

async function showState(at: ReportParts, { request, params }: Call<{ params: { receipt: string } }>) {
  const site = at.siteOf(request);
  const { reports } = site.words;
  const found = await at.cases.stateOf(params.receipt);
  const content = html`<p>${reports.states[found]}</p><p class="muted">${reports.keep}</p>`;
  return noticePage(site, { title: reports.receipt, sign: 'check', content }, { cache: 'no-store' });
}

async function listCases({ cases }: ReportParts): Promise<Response> {
  const open = (await cases.list()).map(({ subject, since, count, receipts, pictures = [], reports }) => ({
    ...{ subject, since: formatTimestamp(since), count, last: receipts.at(-1), images: pictures },
    reports: reports.map(({ reason, text, contact }) => ({ reason, text, contact })),
  }));
  return unkept({ success: true, cases: open });
}

async function decideByApi(at: ReportParts, { request, body, context }: Call<{ body: typeof decideBody }>) {
  const { subject, verdict, last, reason = 'terms', statement = '' } = body;
  const by = { who: context.actor, peer: context.peer };
  const told = statement.trim() || at.siteOf(request).words.admin.statements[reason];
  await decide(at, { subject, verdict, last, by }, { why: reason, statement: told });
  return listCases(at);
}

/** Deletes what was reported, or not, and ends the case. */
async function decide(at: ReportParts, decision: Decision, reasons: { why: string; statement: string }) {
  const { subject, verdict, by } = decision;
  await at.cases.decide(decision, async (pictures) => {
    if (verdict === 'delete') await at.remove(subject, pictures, { ...by, ...reasons });
  });
}

/** The reports that nobody has decided, one case at a time, for moderators. */
export function caseRoutes(desk: ReturnType<typeof createDesk>, at: ReportParts): Route[] {
  return [
    desk.page('/reports', (visit) => showCases(at, visit)),
    desk.act('/reports', async (visit, body) => {
      const subject = body.get('subject') ?? '';
      const verdict: Verdict = body.get('verdict') === 'delete' ? 'delete' : 'keep';
      const last = body.get('last') ?? undefined;
      const reasons = { why: reasonOf(body), statement: statementOf(body, visit.site) };
      // Somebody else may have decided meanwhile, and otherwise.
      await decide(at, { subject, verdict, last, by: visit.by }, reasons).catch(async (error: unknown) => {
        ignoreGone(error);
        if (![undefined, verdict].includes(await at.cases.lastVerdict(subject))) throw superseded();
      });
      return '/reports';
    }),
  ];
}

async function showCases(at: ReportParts, { site, session, request }: Visit) {
  const { admin, reports } = site.words;
  const title = admin.places.reports;
  const cases = await at.cases.list();
  const wanted = new URL(request.url).searchParams.get('subject');
  const shown = cases.find(({ subject }) => subject === wanted) ?? cases[0];
  if (shown === undefined) return { title, content: html`<p class="empty">${admin.nothing}</p>` };
  const [kind = '', id = ''] = shown.subject.split(' ');
  const present = await at.find(kind, id);
  const picture = html`<figure class="admin-review"><img src="${at.home}/picture/${id}" alt=""></figure>`;
  const album = html`<p><a href="${at.basePath}/a/${id}">${shown.subject}</a></p>`;
  const left = shown.pictures?.filter((one) => !present?.includes(one)) ?? [];
  const others = cases.filter((one) => one !== shown);
  const content = html`<p class="muted">${reports.count(shown.count)}. ${reports.since(site.formats.dateTime(shown.since))}</p>
${present === null ? html`<p>${reports.gone}</p>` : kind === 'image' ? picture : album}
${left.length > 0 && html`<p>${reports.left}</p><ul class="small">${left.map((one) => html`<li><a href="${at.home}/picture/${one}">${one}</a></li>`)}</ul>`}
<ul>${shown.reports.map((one) => html`<li><b>${admin.reasons[one.reason]}</b> <span class="wrap">${one.text}</span> <span class="small muted wrap">${one.contact}</span></li>`)}</ul>
<form class="stack" method="post" action="${at.home}/reports">${formField(session)}<input type="hidden" name="subject" value="${shown.subject}"><input type="hidden" name="last" value="${shown.receipts.at(-1)}">
${reasonField(site, shown.reports[0]?.reason)}
<p class="actions">${verdictButton('keep', reports.decide.keep, false)}${verdictButton('delete', reports.decide.delete, true)}</p></form>
<ul class="small">${others.map(({ subject }) => html`<li><a href="${at.home}/reports?subject=${encodeURIComponent(subject)}">${subject}</a></li>`)}</ul>`;
  return { title, content };
}
