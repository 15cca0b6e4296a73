import type { Caller } from '../../http/route.ts';
import { html } from '../../web/html.ts';
import { icon } from '../../web/icons.ts';
import { noticePage } from '../../web/notice-page.ts';
import { seeOther } from '../../web/page-response.ts';
import type { Site } from '../../web/site.ts';
import { type Deleter, deleterOf, mayNotDelete } from '../access/deletion-rights.ts';
import type { ImageRecord } from '../image.ts';
import type { Decision } from '../owner-actions.ts';
import { PRIVATE_CACHE } from '../serve/serve.ts';
import { cutText } from '../upload/filename.ts';
import type { PagesOptions } from './page-parts.ts';

/** Characters of an answer. */
const MAX_ANSWER = 2000;

/** Deletion in two steps, because opening a link must not delete. */
export function createDeletePages({ service, siteOf, basePath }: PagesOptions) {
  async function removable(id: string, by: Deleter): Promise<ImageRecord> {
    const image = (await service.inReview(id)) ?? (await service.find(id));
    if (service.mayRemove(image, by)) return image;
    throw mayNotDelete(by);
  }

  return {
    /** Asks for confirmation. Rejects with `forbidden` if the visitor may not delete the picture. */
    async askDelete(call: Caller, id: string): Promise<Response> {
      const token = new URL(call.request.url).searchParams.get('token');
      const found = await removable(id, deleter(call, token)).catch(async (error) => {
        const decision = token === null ? null : await service.decision(id, token);
        if (token === null || decision === null) throw error;
        return decisionPage({ siteOf, basePath }, call, { id, token, decision });
      });
      if (found instanceof Response) return found;
      const { filename, passwordHash } = found;
      // A visitor with only the uploader's address may not know the password, so the name stays hidden.
      const shown = token === null && passwordHash !== null ? id : filename;
      const site = siteOf(call.request);
      return deletePage(site, `${basePath}/i/${id}`, shown, token);
    },

    /** Records what the uploader answers to a removal by a moderator. */
    async answer(call: Caller, id: string, body: URLSearchParams): Promise<Response> {
      const token = body.get('token') ?? '';
      const text = cutText(body.get('answer')?.trim() ?? '', MAX_ANSWER);
      // There is only one, which nothing must use up.
      if (text !== '') await service.answer(id, token, text, call.context.peer);
      return seeOther(`${basePath}/i/${encodeURIComponent(id)}/delete?token=${encodeURIComponent(token)}`);
    },

    /** Deletes. `token`: that of the form. Rejects with `forbidden` if the visitor may not delete the picture. */
    async confirmDelete(call: Caller, id: string, token: string | null): Promise<Response> {
      const by = deleter(call, token);
      await removable(id, by);
      await service.remove(id, by);
      return deletedPage(siteOf(call.request), basePath, id);
    },
  };
}

/** If there is a token, it alone decides; otherwise the address does. */
function deleter({ request, context }: Caller, token: string | null): Deleter {
  const by = deleterOf(request, context);
  return token === null ? by : { peer: null, token, admin: false, log: by.log };
}

/** Asks the visitor to confirm the deletion. `token`: `null` if the visitor's address is enough. */
function deletePage(site: Site, path: string, filename: string, token: string | null): Response {
  const { pictures } = site.words;
  const content = html`<p>${pictures.deleteWarning(html`<strong class="wrap">${filename}</strong>`)}</p>
<form class="actions" method="post" action="${path}/delete?deleted">
${token !== null && html`<input type="hidden" name="token" value="${token}">`}
<button class="danger" type="submit">${icon('trash')}${pictures.delete}</button>
<a class="button quiet" href="${path}">${pictures.keep}</a>
</form>`;
  const [title, heading] = [pictures.deleteTitle, pictures.deleteQuestion];
  return noticePage(site, { title, heading, sign: 'trash', content }, { cache: PRIVATE_CACHE });
}

/** Confirms that the image was deleted. */
function deletedPage(site: Site, basePath: string, id: string): Response {
  const { pictures, frame } = site.words;
  const content = html`<p data-deleted="${id}">${pictures.deletedNote}</p>
<p class="actions"><a class="button" href="${site.path}/">${pictures.uploadAnother}</a> <a class="button quiet" href="${basePath}/gallery">${frame.nav.gallery}</a></p>`;
  const notice = { title: pictures.deleted, sign: 'check', scripts: ['image.js'], content } as const;
  return noticePage(site, notice, { cache: PRIVATE_CACHE });
}

/** Tells the uploader, by the delete token, why a moderator has removed a picture, and takes one answer. */
function decisionPage(
  { siteOf, basePath }: Pick<PagesOptions, 'siteOf' | 'basePath'>,
  { request }: Caller,
  { id, token, decision }: { id: string; token: string; decision: Decision },
): Response {
  const site = siteOf(request);
  const { reports } = site.words;
  const form = html`<form method="post" action="${basePath}/i/${id}/answer" class="stack"><input type="hidden" name="token" value="${token}">
<p><label for="answer">${reports.answer}</label><textarea id="answer" name="answer" rows="5" required maxlength="${MAX_ANSWER}" aria-describedby="answer-hint"></textarea>
<span class="small muted" id="answer-hint">${reports.answerHint}</span></p><p><button>${reports.sendAnswer}</button></p></form>`;
  const content = html`<p class="wrap">${decision.statement}</p>
${decision.answered ? html`<p class="muted">${reports.answered}</p>` : form}`;
  return noticePage(site, { title: reports.removed, sign: 'warning', content }, { cache: PRIVATE_CACHE });
}
