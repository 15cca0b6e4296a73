import { type Route, route } from '../../http/route.ts';
import { type Html, html } from '../../web/html.ts';
import { icon } from '../../web/icons.ts';
import { pageResponse } from '../../web/page-response.ts';
import type { Site, SiteOf } from '../../web/site.ts';
import { snippet } from '../../web/snippet.ts';
import type { Words } from '../../web/words/words.ts';

/** What the page's script replaces by the token that the browser has kept. */
const TOKEN = 'YOUR-TOKEN';

interface IntegrationsOptions {
  siteOf: SiteOf;
  /** Path under which browsers reach the image host. */
  basePath: string;
  needsToken: boolean;
  /** Names of the services whose clients are supported. */
  clients: readonly string[];
}

/** A program, and what is entered there. */
interface Integration {
  name: string;
  /** Whose clients must be supported. Default: it uses the own API. */
  client?: string;
  how: (words: Words['integrations']) => string;
  /** Texts to copy, by what the program calls them. */
  fields: [label: string, text: string][];
  /** A file to open with the program. */
  file?: string;
}

/** The page that says how other programs upload here. */
export function integrationsRoute({ siteOf, basePath, needsToken, clients }: IntegrationsOptions): Route {
  return route('GET /integrations', ({ request, context }) => {
    const site = siteOf(request);
    const { integrations: words } = site.words;
    const shown = integrationsAt(context.origin + basePath, needsToken).filter(
      ({ client }) => client === undefined || clients.includes(client),
    );
    const page = site.render({
      title: words.title,
      summary: words.lead,
      scripts: ['copy.js', 'integrations.js'],
      content: html`<h1>${words.title}</h1>
<p class="lead">${words.lead}${needsToken && ` ${words.token}`}</p>
<div class="integrations">${shown.map((one, index) => card(site, one, index))}</div>`,
    });
    return pageResponse(site, page, { cache: 'no-cache', compressFor: request });
  });
}

function card(site: Site, { name, how, fields, file }: Integration, index: number): Html {
  const { integrations: words } = site.words;
  const id = (field: number) => `integration-${index}-${field}`;
  return html`<section class="card" aria-labelledby="integration-${index}"><h2 id="integration-${index}">${name}</h2>
<p>${how(words)}</p>
${file !== undefined && html`<p><a class="button quiet small" href="${file}" download data-with-token>${icon('download')}<span>${words.file}</span></a></p>`}
${fields.map(([label, text], field) => snippet(site, id(field), label, text))}</section>
`;
}

/** `base`: scheme, host and base path. */
function integrationsAt(base: string, needsToken: boolean): Integration[] {
  const key = needsToken ? `?key=${TOKEN}` : '';
  const token: [string, string][] = needsToken ? [['Token', TOKEN]] : [];
  const header = needsToken ? ` -H 'Authorization: Bearer ${TOKEN}'` : '';
  return [
    { name: 'ShareX', how: ({ sharex }) => sharex, fields: [], file: `${base}/sharex.sxcu` },
    {
      name: 'Flameshot',
      client: '0x0',
      how: ({ flameshot }) => flameshot,
      fields: [
        ['Linux', `flameshot gui --raw | curl -sF file=@- '${base}/0x0${key}' | xclip -selection clipboard`],
      ],
    },
    {
      name: 'PicGo, PicList',
      client: 'lsky',
      how: ({ picgo }) => picgo,
      fields: [['Server', `${base}/lsky`], ['Version', 'V2'], ...token],
    },
    {
      name: 'Typora',
      client: '0x0',
      how: ({ typora }) => typora,
      // Typora appends the files.
      fields: [
        ['Custom command', `sh -c 'for f; do curl -sF "file=@\\"$f\\"" "${base}/0x0${key}"; done' sh`],
      ],
    },
    {
      name: 'Obsidian',
      client: 'picgo',
      how: ({ obsidian }) => obsidian,
      fields: [
        ['PicGo server', `${base}/picgo/upload${key}`],
        ['PicGo delete server', `${base}/picgo/delete`],
      ],
    },
    {
      name: 'iOS Shortcuts',
      how: ({ shortcuts }) => shortcuts,
      fields: [
        ['URL', `${base}/api/upload`],
        ...(needsToken ? [['Authorization', `Bearer ${TOKEN}`] as [string, string]] : []),
      ],
    },
    {
      name: 'ImgBB, Chevereto',
      client: 'chevereto',
      how: ({ chevereto }) => chevereto,
      fields: [['ImgBB', `${base}/1/upload`], ['Chevereto', `${base}/api/1/upload`], ...token],
    },
    {
      name: 'curl',
      how: ({ curl }) => curl,
      fields: [['curl', `curl${header} -F image=@photo.jpg ${base}/api/upload`]],
    },
  ];
}
