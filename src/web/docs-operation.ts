import {
  answerKind,
  bodyOf,
  type Call,
  isFile,
  type Media,
  neededOf,
  type Operation,
  type Parameter,
  type Schema,
  sample,
  wantsToken,
} from './api-description.ts';
import { type Html, html } from './html.ts';
import type { Site } from './site.ts';
import { codeBlock } from './snippet.ts';
import type { Words } from './words/words.ts';

type Schemas = Readonly<Record<string, Schema>>;

/** Where browsers and programs reach the server. */
interface Place {
  origin: string;
  path: string;
}

/** Longer command lines are broken. */
const WIDTH = 90;

/**
 * Returns one call, folded: what it does, its parameters and answers, and an example. The link
 * target is inside the fold, so that browsers open the fold when a link to it is followed.
 */
export function operationCard(site: Site, call: Call, schemas: Schemas, place: Place): Html {
  const { method, path, operation } = call;
  const { api } = site.words;
  const id = operation.operationId;
  return html`<details class="call">
<summary><h3><span class="method ${method.toLowerCase()}">${method}</span> <code>${path}</code></h3> <span class="call-summary" lang="en">${operation.summary}</span></summary>
<div class="call-body" id="${id}">
<a class="permalink" href="#${id}" aria-label="${api.link(id)}">#${id}</a>
${operation.description && html`<p lang="en">${coded(operation.description)}</p>`}
${parameterTable(api, operation)}
${codeBlock(site, `example-${id}`, api.example, curlFor(call, place))}
<details><summary>${api.responses}</summary>
${Object.entries(operation.responses).map(([status, { description, content }]) => answer(api, status, description, content, schemas))}</details>
</div>
</details>
`;
}

/** Returns a command line that makes a call with its required values. Capitals stand for what is to be filled in. */
export function curlFor({ method, path, operation }: Call, place: Place): string {
  const [type, media] = bodyOf(operation);
  const answer = answerKind(operation);
  const query = (operation.parameters ?? [])
    .filter(({ in: where, required }) => where === 'query' && required)
    .map(({ name }) => `${name}=${name.toUpperCase()}`)
    .join('&');
  const filled = path.replace(/\{(\w+)\}/g, (_, name: string) => name.toUpperCase());
  const parts = ['curl'];
  if (answer === 'events') parts.push('-N');
  if (answer === 'file') parts.push('-o answer.bin');
  const body = bodyOptions(type, media);
  // What is named in the path is mostly changed by its token.
  const tokens = (operation.parameters ?? []).filter(
    ({ name }) => path.includes('{') && /^X-.*-Token$/.test(name),
  );
  if (method !== (body.length === 0 ? 'GET' : 'POST')) parts.push(`-X ${method}`);
  if (wantsToken(operation)) parts.push('-H "Authorization: Bearer $PICPOOL_TOKEN"');
  parts.push(...tokens.map(({ name }) => `-H '${name}: TOKEN'`));
  parts.push(...body, shell(place.origin + place.path + filled + (query && `?${query}`)));
  const line = parts.join(' ');
  return line.length <= WIDTH ? line : parts.join(' \\\n  ').replace(' \\\n  ', ' ');
}

const FORMS = ['multipart/form-data', 'application/x-www-form-urlencoded'];

function bodyOptions(type: string | undefined, media: Media | undefined): string[] {
  if (type === undefined) return [];
  if (type === 'application/json') return [`--json ${shell(JSON.stringify(sample(media)))}`];
  if (!FORMS.includes(type)) return [`-H 'Content-Type: ${type}'`, '--data-binary @FILE'];
  const option = type === FORMS[0] ? '-F' : '--data-urlencode';
  return neededOf(media?.schema ?? {}).map(
    ([name, schema]) => `${option} ${name}=${isFile(schema) ? '@photo.jpg' : name.toUpperCase()}`,
  );
}

/** Quotes a word for a POSIX shell. */
function shell(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

function parameterTable(api: Words['api'], { parameters = [], requestBody }: Operation): Html | null {
  const body = Object.values(requestBody?.content ?? {})[0]?.schema;
  const fields = Object.entries(body?.properties ?? {}).map(([name, schema]) => ({
    name,
    place: 'body' as const,
    description: schema.description,
    schema,
    required: body?.required?.includes(name) ?? false,
  }));
  const rows = [
    ...fields,
    ...parameters
      .filter(({ name }) => !fields.some((field) => field.name === name))
      .map(({ in: place, ...parameter }: Parameter) => ({ ...parameter, place })),
  ];
  if (rows.length === 0) return null;
  return html`<dl class="parameters">
${rows.map(
  ({
    name,
    place,
    required,
    description,
    schema,
  }) => html`<div><dt><code>${name}</code> <span class="muted small">${api.places[place]}${required === true && `, ${api.required}`}</span></dt>
<dd lang="en">${coded(description ?? schema.description ?? '')} <span class="muted">${coded(expected(api, schema))}</span></dd></div>\n`,
)}</dl>`;
}

function expected(api: Words['api'], { enum: choices, default: preset, type, anyOf }: Schema): string {
  const kind = choices
    ? choices.map((choice) => `\`${choice}\``).join(', ')
    : (type ?? anyOf?.[0]?.type ?? '');
  return preset === undefined ? kind : `${kind}; ${api.preset(String(preset))}`;
}

function answer(
  api: Words['api'],
  status: string,
  description: string,
  content: Readonly<Record<string, Media>> = {},
  schemas: Schemas,
): Html {
  const media = content['application/json'];
  const example = status < '300' ? media?.example : undefined;
  return html`<section class="answer"><h4><span class="status s${status[0] ?? ''}">${status}</span> <span lang="en">${coded(description)}</span></h4>
${example !== undefined && html`<pre tabindex="0" aria-label="${api.exampleOf(status)}"><code>${JSON.stringify(example, null, 2)}</code></pre>`}
${status < '300' && media?.schema && meanings(media.schema, schemas)}</section>
`;
}

/** Returns what the fields of an answer mean, if described. */
function meanings(schema: Schema, schemas: Schemas): Html | null {
  const found = new Map<string, string>();
  collect(schema, schemas, found);
  if (found.size === 0) return null;
  return html`<dl class="parameters" lang="en">
${[...found].map(([name, meaning]) => html`<div><dt><code>${name}</code></dt><dd>${coded(meaning)}</dd></div>`)}</dl>`;
}

function collect(schema: Schema, schemas: Schemas, found: Map<string, string>): void {
  const named = schema.$ref?.split('/').at(-1);
  if (named !== undefined) collect(schemas[named] ?? {}, schemas, found);
  for (const part of [...(schema.allOf ?? []), ...(schema.items ? [schema.items] : [])])
    collect(part, schemas, found);
  for (const [name, property] of Object.entries(schema.properties ?? {})) {
    const meaning = property.description ?? property.anyOf?.[0]?.description;
    if (meaning !== undefined && !found.has(name)) found.set(name, meaning);
    collect(property, schemas, found);
  }
}

/** Renders text in which backquotes mark code. */
function coded(text: string): Html {
  const parts = text.split('`');
  return html`${parts.map((part, index) => (index % 2 === 1 ? html`<code>${part}</code>` : html`${part}`))}`;
}
