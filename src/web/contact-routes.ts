import { type Call, type Route, route } from '../http/route.ts';
import { html } from './html.ts';
import { noticePage } from './notice-page.ts';
import { contactUrl, type SiteOf } from './site.ts';

interface ContactOptions {
  siteOf: SiteOf;
  path: string;
  /** Mail address or URL. */
  contact: string;
  /** The operator's rules as plain text; empty if there are none. */
  terms: string;
  /** Ms since 1970. */
  now: () => number;
}

/** RFC 9116 recommends less than a year. */
const LIFE_MS = 180 * 86_400_000;

/** Where people write to, for people and for finders of security holes (RFC 9116). */
export function contactRoutes(options: ContactOptions): Route[] {
  const { path, contact, now } = options;
  const securityTxt = ({ context: { origin } }: Call) => {
    const expires = new Date(now() + LIFE_MS).toISOString();
    const lines = [
      `Contact: ${contactUrl(contact)}`,
      `Expires: ${expires}`,
      `Policy: ${origin}${path}/contact`,
    ];
    return new Response(`${lines.join('\n')}\n`, {
      headers: { 'content-type': 'text/plain; charset=utf-8' },
    });
  };
  return [
    route('GET /contact', (call) => show(options, call)),
    route('GET /.well-known/security.txt', securityTxt),
  ];
}

function show({ siteOf, contact, terms }: ContactOptions, { request }: Call): Response {
  const site = siteOf(request);
  const { title, lead } = site.words.frame.contact;
  const paragraphs = terms.split(/\n\s*\n/).filter((one) => one.trim() !== '');
  const content = html`<p>${lead} <a class="wrap" href="${contactUrl(contact)}">${contact}</a></p>
${paragraphs.map((one) => html`<p class="wrap">${one}</p>`)}`;
  return noticePage(site, { title, content }, { cache: 'no-cache' });
}
