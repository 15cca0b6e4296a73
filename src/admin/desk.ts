import { SESSION_COOKIE, SESSION_MS, type Session, type Sessions } from '../access/sessions.ts';
import { AppError } from '../errors.ts';
import { readForm } from '../http/read-body.ts';
import { type Call, form, type Route, route } from '../http/route.ts';
import { cutText } from '../image/upload/filename.ts';
import { isSecret } from '../lib/secret.ts';
import { type Html, html } from '../web/html.ts';
import { icon } from '../web/icons.ts';
import { noticePage } from '../web/notice-page.ts';
import { pageResponse, seeOther } from '../web/page-response.ts';
import type { Site, SiteOf } from '../web/site.ts';

/** Who acts, for the audit log. */
export interface By {
  who: string;
  peer: string;
}

/** What the pages of moderators see of a request. */
export interface Visit extends Call {
  session: Session;
  site: Site;
  by: By;
}

/** A written page, or where to go instead. */
type Answer = Response | { title: string; content: Html } | string;

interface DeskOptions {
  sessions: Sessions;
  siteOf: SiteOf;
  /** Path under which browsers reach the server. */
  path: string;
}

const NO_STORE = 'no-store';
/** The navigation of these pages: what they are called in the words, and where they are. */
const PLACES = [
  ['pictures', ''],
  ['reviews', '/reviews'],
  ['reports', '/reports'],
  ['log', '/log'],
  ['tokens', '/tokens'],
  ['server', '/server'],
] as const;
const ADMIN_ONLY: readonly string[] = ['tokens', 'server'];

/** Creates what lets only moderators and administrators reach a page, and lets no other page act in their name. */
export function createDesk({ sessions, siteOf, path }: DeskOptions) {
  const home = `${path}/admin`;

  async function enter(call: Call, role: 'admin' | undefined): Promise<Visit | Response> {
    const session = await sessions.of(call.request);
    const site = siteOf(call.request);
    if (session === null) {
      if (!(await sessions.possible())) throw new AppError('not_found', 'There is nothing at this path.');
      return loginPage(site, home, false);
    }
    if (role === 'admin' && session.role !== 'admin')
      throw new AppError('forbidden', 'Only an administrator can do this.');
    return { ...call, session, site, by: { who: session.name, peer: call.context.peer } };
  }

  function answered(visit: Visit, answer: Answer): Response {
    if (answer instanceof Response) return answer;
    if (typeof answer === 'string') return seeOther(home + answer);
    return pageResponse(visit.site, frame(visit, home, answer), { cache: NO_STORE });
  }

  const cookie = (value: string, seconds: number, origin: string): [string, string][] => {
    const secure = origin.startsWith('https:') ? '; Secure' : '';
    const kept = `Path=${home}; Max-Age=${seconds}; HttpOnly; SameSite=Strict${secure}`;
    return [['set-cookie', `${SESSION_COOKIE}=${value}; ${kept}`]];
  };

  const desk = {
    /** A page that moderators read; with `role`, only administrators. */
    page: (at: string, show: (visit: Visit) => Promise<Answer>, role?: 'admin'): Route =>
      route(`GET /admin${at}`, async (call) => {
        const visit = await enter(call, role);
        return visit instanceof Response ? visit : answered(visit, await show(visit));
      }),

    /** What a form of such a page does. */
    act: (
      at: string,
      work: (visit: Visit, body: URLSearchParams) => Promise<Answer>,
      role?: 'admin',
    ): Route =>
      route(
        `POST /admin${at}`,
        async (call) => {
          const visit = await enter(call, role);
          if (visit instanceof Response) return visit;
          demandOwnPage(call);
          const body = await readForm(call.request);
          if (!isSecret(visit.session.form)(body.get('form'))) throw outOfDate();
          return answered(visit, await work(visit, body));
        },
        // A session proves more than an address.
        { evenBlocked: true },
      ),
  };
  const routes = [
    route(
      'POST /admin/login',
      async ({ request, context, body }) => {
        if (!(await sessions.possible())) throw new AppError('not_found', 'There is nothing at this path.');
        try {
          const value = await sessions.open(body.get('token') ?? '', context.peer);
          return seeOther(home, cookie(value, SESSION_MS / 1000, context.origin));
        } catch (error) {
          if (!(error instanceof AppError) || error.code !== 'unauthorized') throw error;
          return loginPage(siteOf(request), home, true);
        }
      },
      { body: form, evenBlocked: true },
    ),
    // The address that a wrong token has left in the browser.
    desk.page('/login', async () => ''),
    desk.act('/logout', async ({ session, context }, body) => {
      await sessions.close(session, body.has('everywhere'));
      // The browser's Back button would show the pages again.
      return seeOther(home, [...cookie('', 0, context.origin), ['clear-site-data', '"cache"']]);
    }),
  ];
  return { ...desk, routes };
}

/** Browsers name the page of each form. The application has refused other sites; here even an allowed one must not act. */
function demandOwnPage({ request: { headers }, context }: Call): void {
  const origin = headers.get('origin');
  const host = origin !== null && URL.canParse(origin) ? new URL(origin).host : null;
  const own = [context.reachedAt, context.origin].map((one) => new URL(one).host);
  const site = headers.get('sec-fetch-site') ?? 'same-origin';
  if (host !== null && own.includes(host) && site === 'same-origin') return;
  throw outOfDate();
}

const outOfDate = () => new AppError('forbidden', 'The form is out of date. Open the page again.');

/** The hidden field that each form must have. */
export const formField = ({ form }: Session) => html`<input type="hidden" name="form" value="${form}">`;

/** A button that one key presses as well. */
export const verdictButton = (value: string, text: string, isDangerous: boolean) => {
  const key = isDangerous ? 'd' : 'a';
  return html`<button class="${isDangerous && 'danger'}" name="verdict" value="${value}" data-key="${key}" aria-keyshortcuts="${key}">${icon(isDangerous ? 'trash' : 'check')}${text} <kbd>${key}</kbd></button>`;
};

function frame(
  { site, session }: Visit,
  home: string,
  { title, content }: { title: string; content: Html },
): string {
  const { admin } = site.words;
  const places = PLACES.filter(([name]) => session.role === 'admin' || !ADMIN_ONLY.includes(name));
  return site.render({
    title,
    scripts: ['admin.js'],
    content: html`<div class="admin"><h1>${title}</h1>
<nav class="admin-nav" aria-label="${admin.title}"><ul>${places.map(([name, at]) => html`<li><a href="${home}${at}"${title === admin.places[name] && html` aria-current="page"`}>${admin.places[name]}</a></li>`)}</ul></nav>
${content}
<form class="actions" method="post" action="${home}/logout">${formField(session)}<span class="muted small">${admin.loggedIn(session.name)}</span>
<button class="quiet small">${admin.logOut}</button><button class="quiet small" name="everywhere" value="1">${admin.everywhere}</button></form></div>`,
  });
}

function loginPage(site: Site, home: string, isWrong: boolean): Response {
  const { admin } = site.words;
  const content = html`<form method="post" action="${home}/login" class="stack">
<p><label for="token">${admin.token}</label>
<input id="token" type="password" name="token" required autofocus autocomplete="current-password"${isWrong && html` aria-invalid="true" aria-describedby="fault"`}></p>
${isWrong && html`<p class="fault" id="fault" role="alert">${icon('warning')}${admin.wrongToken}</p>`}
<p><button type="submit">${admin.logIn}</button></p>
</form>`;
  return noticePage(site, { title: admin.title, sign: 'lock', content }, { cache: NO_STORE, status: 401 });
}

/** Why a picture is reported, and deleted. */
export const REASONS = ['illegal', 'abuse', 'copyright', 'privacy', 'spam', 'terms'] as const;
export type Reason = (typeof REASONS)[number];

export const MAX_TEXT = 2000;

/** Returns the reason that a form gives; the last one for others. */
export function reasonOf(body: URLSearchParams): Reason {
  return REASONS.find((one) => one === body.get('reason')) ?? 'terms';
}

/** Returns what the uploader is told: what a moderator has written, or the template of the reason. */
export function statementOf(body: URLSearchParams, { words }: Site): string {
  return cutText(body.get('statement')?.trim() ?? '', MAX_TEXT) || words.admin.statements[reasonOf(body)];
}

/** The reason, and what the uploader is told, which may be edited. */
export function reasonField({ words: { admin } }: Site, chosen: Reason = 'terms') {
  return html`<p><label for="reason">${admin.reason}</label>
<select id="reason" name="reason">${REASONS.map((reason) => html`<option value="${reason}" data-statement="${admin.statements[reason]}"${reason === chosen && html` selected`}>${admin.reasons[reason]}</option>`)}</select></p>
<p><label for="statement">${admin.statement}</label>
<textarea id="statement" name="statement" rows="4" maxlength="${MAX_TEXT}" aria-describedby="statement-hint"></textarea>
<span class="small muted" id="statement-hint">${admin.statementHint}</span></p>`;
}
