import { expect, test } from 'bun:test';
import { Type } from '@sinclair/typebox';
import { toOpenApi30 } from '../../src/http/openapi-3-0.ts';
import { oneOf } from '../../src/lib/schema.ts';

/** A schema as it stands in 3.0. */
function older(schema: object): unknown {
  const document = { openapi: '3.1.0', components: { schemas: { It: JSON.parse(JSON.stringify(schema)) } } };
  return (toOpenApi30(document) as typeof document).components.schemas.It;
}

const NULL = { type: 'null' };

test('the version is 3.0.3', () => {
  expect(toOpenApi30({ openapi: '3.1.0', paths: {} })).toEqual({ openapi: '3.0.3', paths: {} });
});

test('a constant becomes a choice of one', () => {
  expect(older(Type.Literal('1.0'))).toEqual({ type: 'string', enum: ['1.0'] });
  expect(older(Type.Literal(false))).toEqual({ type: 'boolean', enum: [false] });
});

test('a nullable type says so', () => {
  expect(older(Type.Union([Type.String(), Type.Null()], { description: 'When.' }))).toEqual({
    type: 'string',
    description: 'When.',
    nullable: true,
  });
});

test('null is one of the values of a nullable enum', () => {
  expect(older(Type.Union([oneOf(['up', 'down']), Type.Null()]))).toEqual({
    type: 'string',
    enum: ['up', 'down', null],
    nullable: true,
  });
});

test('a nullable reference is wrapped, because siblings of a reference are ignored', () => {
  const reference = { $ref: '#/components/schemas/Proxy' };
  expect(older({ anyOf: [reference, NULL] })).toEqual({ allOf: [reference], nullable: true });
});

test('all alternatives except null stay', () => {
  const alternatives = [{ type: 'string' }, { type: 'integer' }];
  expect(older({ anyOf: [...alternatives, NULL] })).toEqual({ anyOf: alternatives, nullable: true });
  expect(older({ anyOf: alternatives })).toEqual({ anyOf: alternatives });
});

test('a record with any keys is an object with additional properties', () => {
  expect(older(Type.Record(Type.String(), Type.Integer()))).toEqual({
    type: 'object',
    additionalProperties: { type: 'integer' },
  });
});

test('what 3.0 cannot express is an error, and not left out', () => {
  const patterns = { '^a': { type: 'string' }, '^b': { type: 'integer' } };
  expect(() => older({ type: 'object', patternProperties: patterns })).toThrow('patternProperties');
});

test('a schema has one example, and examples are unchanged', () => {
  const example = { const: 1, anyOf: [NULL] };
  expect(older({ type: 'object', examples: [example, {}] })).toEqual({ type: 'object', example });
});
