type Node = Record<string, unknown>;

/** Keywords whose values are data, which may look like schemas. */
const DATA = new Set(['example', 'examples', 'default', 'enum']);

/**
 * Converts an OpenAPI 3.1 document to 3.0.3, for generators that support nothing newer. Handles the keywords that
 * TypeBox writes: `const`, `null` among alternatives, `patternProperties` for any name, and the `examples` of a
 * schema.
 */
export function toOpenApi30(document: object): object {
  return { ...(downgrade(document) as Node), openapi: '3.0.3' };
}

function downgrade(node: unknown): unknown {
  if (Array.isArray(node)) return node.map(downgrade);
  if (typeof node !== 'object' || node === null) return node;
  const older: Node = {};
  for (const [key, value] of Object.entries(node)) older[key] = DATA.has(key) ? value : downgrade(value);
  return withoutNull(withoutConstant(withoutPattern(withoutExamples(older))));
}

function withoutConstant({ const: constant, ...schema }: Node): Node {
  return constant === undefined ? schema : { ...schema, enum: [constant] };
}

/** `Type.Record` writes one pattern, which matches every name. */
function withoutPattern({ patternProperties, ...schema }: Node): Node {
  if (patternProperties === undefined) return schema;
  const [values, ...others] = Object.values(patternProperties as Node);
  if (others.length > 0) throw new Error('OpenAPI 3.0 has no patternProperties');
  return { ...schema, additionalProperties: values };
}

/** The `examples` of parameters and media types are not lists, and stay. */
function withoutExamples(node: Node): Node {
  if (!Array.isArray(node.examples)) return node;
  const { examples, ...schema } = node;
  return { ...schema, example: (examples as unknown[])[0] };
}

function withoutNull(node: Node): Node {
  if (!Array.isArray(node.anyOf)) return node;
  const { anyOf, ...schema } = node;
  const rest = (anyOf as Node[]).filter(({ type }) => type !== 'null');
  if (rest.length === anyOf.length) return node;
  const [only = {}, ...others] = rest;
  if (others.length > 0) return { ...schema, anyOf: rest, nullable: true };
  // 3.0 ignores keys beside a reference.
  if ('$ref' in only) return { ...schema, allOf: [only], nullable: true };
  const choices = Array.isArray(only.enum) && { enum: [...only.enum, null] };
  return { ...only, ...schema, ...choices, nullable: true };
}
