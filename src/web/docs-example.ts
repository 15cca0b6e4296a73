import type { Call, Media, Operation, Schema } from './api-description.ts';
import type { ExampleRequest } from './client/examples.js';

/** Where browsers and programs reach the server. */
export interface Place {
  origin: string;
  path: string;
}

const SAMPLES: Record<string, unknown> = { ip: '203.0.113.9', port: 8080 };

/** Returns the request of a call with its required values, for a form that is still empty. */
export function sampleRequest({ method, path, operation }: Call, place: Place): ExampleRequest {
  const [type, media] = bodyOf(operation);
  const needed = (operation.parameters ?? []).filter(
    ({ in: where, required }) => where === 'query' && required,
  );
  const query = needed.map(({ name }) => `${name}=${name.toUpperCase()}`).join('&');
  return {
    method,
    url: `${place.origin}${place.path}${path}${query && `?${query}`}`.replace(
      /\{(\w+)\}/g,
      (_, name: string) => name.toUpperCase(),
    ),
    headers: [],
    token: wantsToken(operation),
    body: sampleBody(type, media),
    answer: answerKind(operation),
  };
}

/** Returns the first media type of the body, which the form sends. */
export function bodyOf({ requestBody }: Operation): [type: string | undefined, media: Media | undefined] {
  const [type, media] = Object.entries(requestBody?.content ?? {})[0] ?? [];
  return [type, media];
}

function sampleBody(type: string | undefined, media: Media | undefined): ExampleRequest['body'] {
  if (type === undefined) return null;
  if (type === 'application/json') return { kind: 'json', text: JSON.stringify(sample(media)) };
  const kind = type === 'multipart/form-data' ? 'multipart' : 'urlencoded';
  const { properties = {}, required = [] } = media?.schema ?? {};
  const fields = Object.entries(properties)
    .filter(([name, schema]) => required.includes(name) || isFile(schema))
    .map(([name, schema]) => ({
      name,
      value: isFile(schema) ? 'photo.jpg' : name.toUpperCase(),
      isFile: isFile(schema),
    }));
  return { kind, fields };
}

export function isFile({ format, items }: Schema): boolean {
  return format === 'binary' || items?.format === 'binary';
}

/** Returns a body to start with: the described example, or one value for each required field. */
export function sample(media: Media | undefined): unknown {
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

/** Reports whether the call needs a token, or answers differently with one. */
export function wantsToken({ security }: Operation): boolean {
  return security?.some((way) => Object.keys(way).length > 0) ?? false;
}

/** Returns what a program does with a successful answer. */
export function answerKind({ responses }: Operation): ExampleRequest['answer'] {
  const good = Object.entries(responses).find(([status]) => status < '300')?.[1];
  const types = Object.keys(good?.content ?? {});
  if (types.includes('text/event-stream')) return 'events';
  if (types.includes('application/json')) return 'json';
  return types.length === 0 || types.some((type) => /^(text|application\/x-ndjson)/.test(type))
    ? 'text'
    : 'file';
}
