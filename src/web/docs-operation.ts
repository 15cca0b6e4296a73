import type { Call, Media, Operation, Parameter, Schema } from './api-description.ts';
import { type Html, html } from './html.ts';
import { icon } from './icons.ts';

type Schemas = Readonly<Record<string, Schema>>;

/** Where browsers and programs reach the server. */
export interface Place {
  origin: string;
  path: string;
}

/** One call: what it does, what it takes and answers, how curl makes it, and a form that makes it here. */
export function operationCard(call: Call, schemas: Schemas, place: Place): Html {
  const { method, path, operation } = call;
  const id = operation.operationId;
  return html`<article class="call" id="${id}">
<h3><span class="method ${method.toLowerCase()}">${method}</span> <code>${path}</code></h3>
<p class="call-summary">${operation.summary}.</p>
${operation.description && html`<p>${coded(operation.description)}</p>`}
${parameterTable(operation)}
<div class="code"><pre tabindex="0" aria-label="Example for curl"><code id="curl-${id}">${curlOf(call, place)}</code></pre><button class="copy needs-script" type="button" data-copy-from="curl-${id}" aria-label="Copy the example">${icon('copy')}<span>Copy</span></button></div>
${isEndless(operation) ? null : tryForm(call, place)}
<details><summary>Answers</summary>
${Object.entries(operation.responses).map(([status, { description, content }]) => answer(status, description, content, schemas))}</details>
</article>
`;
}

function parameterTable({ parameters = [], requestBody }: Operation): Html | null {
  const body = Object.values(requestBody?.content ?? {})[0]?.schema;
  const fields = Object.entries(body?.properties ?? {}).map(
    ([name, schema]): Parameter => ({
      name,
      in: 'query',
      schema,
      required: body?.required?.includes(name) ?? false,
    }),
  );
  const rows = [
    ...fields.map((field) => ({ ...field, place: 'body' })),
    ...parameters
      .filter(({ name }) => !fields.some((field) => field.name === name))
      .map((parameter) => ({ ...parameter, place: parameter.in as string })),
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
  }) => html`<div><dt><code>${name}</code> <span class="muted small">${place}${required === true && ', needed'}</span></dt>
<dd>${coded(description ?? schema.description ?? '')} <span class="muted">${coded(expected(schema))}</span></dd></div>\n`,
)}</dl>`;
}

function expected({ enum: choices, default: preset, type, anyOf }: Schema): string {
  const kind = choices
    ? choices.map((choice) => `\`${choice}\``).join(', ')
    : (type ?? anyOf?.[0]?.type ?? '');
  return preset === undefined ? kind : `${kind}; else \`${preset}\``;
}

function answer(
  status: string,
  description: string,
  content: Readonly<Record<string, Media>> = {},
  schemas: Schemas,
): Html {
  const media = content['application/json'];
  const example = status < '300' ? media?.example : undefined;
  return html`<section class="answer"><h4><span class="status s${status[0] ?? ''}">${status}</span> ${coded(description)}</h4>
${example !== undefined && html`<pre tabindex="0" aria-label="Example of the answer ${status}"><code>${JSON.stringify(example, null, 2)}</code></pre>`}
${status < '300' && media?.schema && meanings(media.schema, schemas)}</section>
`;
}

/** What the fields of an answer mean, where that is said. */
function meanings(schema: Schema, schemas: Schemas): Html | null {
  const found = new Map<string, string>();
  collect(schema, schemas, found);
  if (found.size === 0) return null;
  return html`<dl class="parameters">
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

function isEndless({ responses }: Operation): boolean {
  return 'text/event-stream' in (responses[200]?.content ?? {});
}

function tryForm({ method, path, operation }: Call, place: Place): Html {
  const { operationId: id, parameters = [], requestBody } = operation;
  const [type, media] = Object.entries(requestBody?.content ?? {})[0] ?? [];
  return html`<details class="needs-script"><summary>${icon('play')}Try it</summary>
<form class="try" data-method="${method}" data-path="${place.path}${path}"${type && html` data-type="${type}"`}>
<div class="fields">
${parameters.filter((one) => one.in !== 'cookie' && !isField(media, one.name)).map((one) => field(id, one))}
${type === 'application/json' && html`<p class="wide"><label for="try-${id}-body">Body</label><textarea id="try-${id}-body" name="body" rows="4" spellcheck="false">${JSON.stringify(sample(media), null, 2)}</textarea></p>`}
${type !== undefined && type !== 'application/json' && Object.entries(media?.schema?.properties ?? {}).map(([name, schema]) => field(id, { name, in: 'query', schema }, 'body'))}
</div>
<p class="actions"><button type="submit">${icon('play')}Send</button></p>
<div class="try-answer" aria-live="polite"></div>
</form>
</details>`;
}

function isField(media: Media | undefined, name: string): boolean {
  return media?.schema?.properties !== undefined && Object.hasOwn(media.schema.properties, name);
}

function field(id: string, { name, in: place, schema, required }: Parameter, kind: string = place): Html {
  const input = `try-${id}-${name}`;
  const facts = html`id="${input}" name="${name}" data-in="${kind}"${(required === true || place === 'path') && html` required`}`;
  if (schema.enum) {
    return html`<p><label for="${input}">${name}</label><select ${facts}><option value=""></option>${schema.enum.map((choice) => html`<option>${choice}</option>`)}</select></p>`;
  }
  if (schema.format === 'binary') {
    return html`<p><label for="${input}">${name}</label><input type="file" ${facts}></p>`;
  }
  return html`<p><label for="${input}">${name}</label><input ${facts} placeholder="${schema.default === undefined ? '' : String(schema.default)}" autocomplete="off"></p>`;
}

/** A body to begin with: the described example, or one value for each needed field. */
function sample(media: Media | undefined): unknown {
  if (media?.example !== undefined) return media.example;
  const { properties = {}, required = [] } = media?.schema ?? {};
  return Object.fromEntries(
    Object.entries(properties)
      .filter(([name]) => required.includes(name))
      .map(([name, { type, default: preset }]) => [
        name,
        preset ?? SAMPLES[name] ?? (type === 'boolean' ? true : 1),
      ]),
  );
}

const SAMPLES: Record<string, unknown> = { ip: '203.0.113.9', port: 8080 };

function curlOf({ method, path, operation }: Call, place: Place): string {
  const url = `${place.origin}${place.path}${path}`.replace(/\{(\w+)\}/g, (_, name: string) =>
    name.toUpperCase(),
  );
  const [type, media] = Object.entries(operation.requestBody?.content ?? {})[0] ?? [];
  const needed = (operation.parameters ?? []).filter(
    ({ in: place, required }) => place === 'query' && required,
  );
  const query = needed.map(({ name }) => `${name}=${name.toUpperCase()}`).join('&');
  const parts = ['curl'];
  if (isEndless(operation)) parts.push('-N');
  if (type === 'multipart/form-data') parts.push('-F image=@photo.jpg');
  else if (type === 'application/json') {
    parts.push(`--json '${JSON.stringify(sample(media))}'`);
  } else if (type !== undefined) parts.push("-d 'token=TOKEN'");
  else if (method !== 'GET') parts.push(`-X ${method}`);
  parts.push(query === '' ? url : `'${url}?${query}'`);
  return parts.join(' ');
}

/** Text in which backquotes mark code. */
function coded(text: string): Html {
  const parts = text.split('`');
  return html`${parts.map((part, index) => (index % 2 === 1 ? html`<code>${part}</code>` : html`${part}`))}`;
}
