import assert from 'node:assert/strict';
import { Ajv, type ValidateFunction } from 'ajv';

interface Operation {
  operationId: string;
  tags: string[];
  responses: Record<string, { content?: Record<string, { schema: object }> }>;
}

interface Description {
  paths: Record<string, Record<string, Operation>>;
  components: object;
}

/** Compares answers with the API description that the server itself gives. */
export async function loadContract(url: string) {
  const answer = await fetch(`${url}/openapi.json`);
  const description = (await answer.json()) as Description;
  const ajv = new Ajv({ strict: false, allErrors: true });
  const validators = new Map<object, ValidateFunction>();
  const untouched = new Set(Object.values(description.paths).flatMap((path) => Object.values(path)));

  /** The path of the description with the fewest parameters that fits. */
  function find(method: string, path: string): Operation | undefined {
    const fitting = Object.entries(description.paths)
      .filter(([template]) =>
        new RegExp(`^${template.replace(/[.]/g, '\\.').replace(/\{\w+\}/g, '[^/]+')}$`).test(path),
      )
      .sort(([a], [b]) => a.split('{').length - b.split('{').length);
    return fitting.map(([, operations]) => operations[method.toLowerCase()]).find(Boolean);
  }

  return {
    /** Operations of a tag that no checked answer has belonged to. */
    untouched: (tag: string) =>
      [...untouched].filter(({ tags }) => tags.includes(tag)).map(({ operationId }) => operationId),
    /** Fails unless the operation is described with this status, media type and, for JSON, this shape. */
    async check(method: string, path: string, response: Response) {
      const operation = find(method === 'HEAD' ? 'GET' : method, path);
      if (!operation) {
        assert.ok(
          [404, 405].includes(response.status),
          `${method} ${path} is not described, but answers ${response.status}`,
        );
        return;
      }
      untouched.delete(operation);
      const described = operation.responses[response.status];
      assert.ok(described, `${operation.operationId} answers ${response.status}, which is not described`);
      const type = response.headers.get('content-type')?.split(';')[0] ?? '';
      if (!described.content || method === 'HEAD') return;
      const media = described.content[type] ?? described.content['image/*'];
      assert.ok(
        media,
        `${operation.operationId} answers ${response.status} as "${type}", which is not described`,
      );
      if (type !== 'application/json') return;
      let validate = validators.get(media);
      if (!validate) {
        validate = ajv.compile({ ...media.schema, components: description.components });
        validators.set(media, validate);
      }
      const valid = validate(await response.clone().json());
      assert.ok(valid, `${operation.operationId} ${response.status}: ${ajv.errorsText(validate.errors)}`);
    },
  };
}

export type Contract = Awaited<ReturnType<typeof loadContract>>;
