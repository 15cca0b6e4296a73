import { html } from '../web/html.ts';
import type { Site } from '../web/site.ts';

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
  return body.get('statement')?.trim().slice(0, MAX_TEXT) || words.admin.statements[reasonOf(body)];
}

/** The reason, and what the uploader is told, which may be edited. */
export function reasonField({ words: { admin } }: Site, chosen: Reason = 'terms') {
  return html`<p><label for="reason">${admin.reason}</label>
<select id="reason" name="reason">${REASONS.map((reason) => html`<option value="${reason}" data-statement="${admin.statements[reason]}"${reason === chosen && html` selected`}>${admin.reasons[reason]}</option>`)}</select></p>
<p><label for="statement">${admin.statement}</label>
<textarea id="statement" name="statement" rows="4" maxlength="${MAX_TEXT}" aria-describedby="statement-hint"></textarea>
<span class="small muted" id="statement-hint">${admin.statementHint}</span></p>`;
}
