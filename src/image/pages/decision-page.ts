import type { Caller } from '../../http/route.ts';
import { html } from '../../web/html.ts';
import { icon } from '../../web/icons.ts';
import { pageResponse } from '../../web/page-response.ts';
import type { Decision } from '../owner-actions.ts';
import { PRIVATE_CACHE } from '../serve/serve.ts';
import type { PagesOptions } from './page-parts.ts';

/** Characters of an answer. */
export const MAX_ANSWER = 2000;

/** Tells the uploader, by the delete token, why a moderator has removed a picture, and takes one answer. */
export function decisionPage(
  { siteOf, basePath }: Pick<PagesOptions, 'siteOf' | 'basePath'>,
  { request }: Caller,
  { id, token, decision }: { id: string; token: string; decision: Decision },
): Response {
  const site = siteOf(request);
  const { reports } = site.words;
  const form = html`<form method="post" action="${basePath}/i/${id}/answer" class="stack"><input type="hidden" name="token" value="${token}">
<p><label for="answer">${reports.answer}</label><textarea id="answer" name="answer" rows="5" required maxlength="${MAX_ANSWER}" aria-describedby="answer-hint"></textarea>
<span class="small muted" id="answer-hint">${reports.answerHint}</span></p><p><button>${reports.sendAnswer}</button></p></form>`;
  const page = site.render({
    title: reports.removed,
    content: html`<section class="notice-page"><p class="notice-icon">${icon('warning')}</p><h1>${reports.removed}</h1>
<p class="wrap">${decision.statement}</p>
${decision.answered ? html`<p class="muted">${reports.answered}</p>` : form}</section>`,
  });
  return pageResponse(site, page, { cache: PRIVATE_CACHE });
}
