import type { Route } from '../http/route.ts';
import { SUBJECT } from '../image/owner-actions.ts';
import { readableBytes } from '../lib/format.ts';
import { html } from '../web/html.ts';
import { formField, type Visit, verdictButton } from './desk.ts';
import type { PictureDesk } from './pictures.ts';
import { reasonField, reasonOf, statementOf } from './reasons.ts';

/** The queue of pictures in review, one at a time, each decided with one key. */
export function queueRoutes({ desk, ...at }: PictureDesk): Route[] {
  return [
    desk.page('/reviews', (visit) => show(at, visit)),
    desk.act('/reviews', async (visit, body) => {
      const verdict = (['allow', 'block'] as const).find((one) => one === body.get('verdict'));
      if (verdict === undefined) return '/reviews';
      const subject = SUBJECT + (body.get('id') ?? '');
      const held = await at.reviews.find(body.get('id') ?? '');
      const refused = {
        why: reasonOf(body),
        details: { statement: statementOf(body, visit.site), tokenHash: held?.deleteTokenHash },
      };
      // Somebody else has just decided.
      if (held !== null) {
        await at.audit.act({
          what: `review.${verdict}`,
          subject,
          ...visit.by,
          ...(verdict === 'block' && refused),
        });
      }
      return '/reviews';
    }),
  ];
}

async function show({ reviews, home }: Omit<PictureDesk, 'desk'>, { site, session }: Visit) {
  const { admin } = site.words;
  const title = admin.places.reviews;
  const held = await reviews.list();
  const [image] = held;
  if (image === undefined) return { title, content: html`<p class="empty">${admin.nothing}</p>` };
  const content = html`<p class="muted">${admin.waiting(held.length)}</p>
<form method="post" action="${home}/reviews">${formField(session)}<input type="hidden" name="id" value="${image.id}">
<p class="actions">${verdictButton('allow', admin.verdicts.allow, false)}${verdictButton('block', admin.verdicts.block, true)}</p>
<figure class="admin-review"><img src="${home}/picture/${image.id}" alt="" width="${image.width}" height="${image.height}"></figure>
<p class="small"><span class="wrap">${image.filename}</span>, ${image.width} × ${image.height}, ${readableBytes(image.size)}, ${image.uploader}, ${site.formats.dateTime(image.createdAt)}</p>
<details><summary>${admin.reason}</summary>${reasonField(site)}</details></form>`;
  return { title, content };
}
