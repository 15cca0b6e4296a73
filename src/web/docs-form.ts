import type { Call, Media, Parameter } from './api-description.ts';
import { answerKind, bodyOf, isFile, type Place, sample, wantsToken } from './docs-example.ts';
import { type Html, html } from './html.ts';
import { icon } from './icons.ts';
import type { Site } from './site.ts';

/** Returns a form that makes the call. A script sends it, and updates the examples. */
export function tryForm({ words: { api } }: Site, call: Call, place: Place): Html {
  const { method, path, operation } = call;
  const { operationId: id, parameters = [] } = operation;
  const [type, media] = bodyOf(operation);
  const isJson = type === 'application/json';
  const facts = html`data-method="${method}" data-path="${place.path}${path}" data-answer="${answerKind(operation)}"${type !== undefined && html` data-type="${type}"`}${wantsToken(operation) && html` data-token`}`;
  return html`<details class="needs-script"${answerKind(operation) === 'events' && html` hidden`}><summary>${icon('play')}${api.tryIt}</summary>
<form class="try" ${facts}>
<div class="fields">
${parameters.filter((one) => one.in !== 'cookie' && !isField(media, one.name)).map((one) => field(id, one))}
${isJson && html`<p class="wide"><label for="try-${id}-body">${api.body}</label><textarea id="try-${id}-body" name="body" rows="4" spellcheck="false">${JSON.stringify(sample(media), null, 2)}</textarea></p>`}
${type !== undefined && !isJson && Object.entries(media?.schema?.properties ?? {}).map(([name, schema]) => field(id, { name, in: 'query', schema }, 'body'))}
</div>
<p class="actions"><button type="submit">${icon('play')}${api.send}</button></p>
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
  if (isFile(schema)) {
    return html`<p><label for="${input}">${name}</label><input type="file" ${facts}></p>`;
  }
  return html`<p><label for="${input}">${name}</label><input ${facts} placeholder="${schema.default === undefined ? '' : String(schema.default)}" autocomplete="off"></p>`;
}
