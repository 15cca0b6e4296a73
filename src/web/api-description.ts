/** The parts of an OpenAPI 3.1 document that the page shows. */
export interface ApiDescription {
  info: { version: string; description?: string };
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, Schema> };
}

export interface Operation {
  operationId: string;
  summary: string;
  description?: string;
  tags?: string[];
  /** Accepted kinds of authentication; an empty one means that none is needed. */
  security?: Record<string, string[]>[];
  parameters?: Parameter[];
  requestBody?: { content: Record<string, Media> };
  responses: Record<string, { description: string; content?: Record<string, Media> }>;
}

export interface Parameter {
  name: string;
  in: 'path' | 'query' | 'header' | 'cookie';
  required?: boolean;
  description?: string;
  schema: Schema;
}

export interface Media {
  schema?: Schema;
  example?: unknown;
}

export interface Schema {
  $ref?: string;
  type?: string;
  format?: string;
  enum?: string[];
  const?: unknown;
  default?: unknown;
  description?: string;
  properties?: Record<string, Schema>;
  required?: string[];
  items?: Schema;
  anyOf?: Schema[];
  allOf?: Schema[];
}

/** One call of the API, with its description. */
export interface Call {
  method: string;
  path: string;
  operation: Operation;
}

const SAMPLES: Record<string, unknown> = { ip: '203.0.113.9', port: 8080, network: '203.0.113.0/24' };

/** Returns the first media type of the body, which the example sends. */
export function bodyOf({ requestBody }: Operation): [type: string | undefined, media: Media | undefined] {
  const [type, media] = Object.entries(requestBody?.content ?? {})[0] ?? [];
  return [type, media];
}

export function isFile({ format, items }: Schema): boolean {
  return format === 'binary' || items?.format === 'binary';
}

/** Returns a body to start with: the described example, or what the schema asks for. */
export const sample = (media: Media | undefined): unknown =>
  media?.example ?? sampleOf('body', media?.schema ?? {});

/** Returns a value of a field. Capitals stand for a text that is to be filled in. */
function sampleOf(name: string, schema: Schema): unknown {
  const { type, enum: choices, const: only, anyOf, items } = schema;
  const known = schema.default ?? SAMPLES[name] ?? only ?? choices?.[0];
  if (known !== undefined) return known;
  if (anyOf?.[0]) return sampleOf(name, anyOf[0]);
  if (type === 'boolean') return true;
  if (type === 'number' || type === 'integer') return 1;
  if (type === 'array') return [sampleOf(name, items ?? {})];
  if (type !== 'object') return name.toUpperCase();
  return Object.fromEntries(neededOf(schema).map(([field, inner]) => [field, sampleOf(field, inner)]));
}

/** Returns the required fields, or the first: where none is required, one is, whichever it be. */
export function neededOf({ properties = {}, required = [] }: Schema): [name: string, schema: Schema][] {
  const fields = Object.entries(properties);
  const needed = fields.filter(([name, schema]) => required.includes(name) || isFile(schema));
  return needed.length > 0 ? needed : fields.slice(0, 1);
}

/** Reports whether the call needs a token, or answers differently with one. */
export function wantsToken({ security }: Operation): boolean {
  return security?.some((way) => Object.keys(way).length > 0) ?? false;
}

/** Returns what a successful answer is, for a program that shows or saves it. */
export function answerKind({ responses }: Operation): 'text' | 'file' | 'events' {
  const good = Object.entries(responses).find(([status]) => status < '300')?.[1];
  const types = Object.keys(good?.content ?? {});
  if (types.includes('text/event-stream')) return 'events';
  const isText = types.some((type) => /^(text\/|application\/(json|x-ndjson))/.test(type));
  return types.length === 0 || isText ? 'text' : 'file';
}
