import type { DefinitionBase, Elysia, MetadataBase, RouteBase, SingletonBase } from 'elysia';

/**
 * A server for `treaty` of `@elysiajs/eden`: `treaty<App<paths>>(url)`. `Paths` is what `openapi-typescript`
 * generates from the server's `/openapi.json`, so every described route has its parameters, answers and errors.
 */
export type App<Paths> = Elysia<'', SingletonBase, DefinitionBase, MetadataBase, Routes<Paths>>;

type Method = 'get' | 'put' | 'post' | 'delete' | 'options' | 'head' | 'patch';

type Routes<Paths> = Intersection<
  { [P in keyof Paths]: P extends `/${infer Rest}` ? Nested<Rest, Methods<Paths[P]>> : never }[keyof Paths]
>;

/** Turns `api/proxy/{id}` into nested objects, whose keys Eden reads. */
type Nested<Path extends string, Leaf> = Path extends `${infer First}/${infer Rest}`
  ? { [K in Segment<First>]: Nested<Rest, Leaf> }
  : Path extends ''
    ? Leaf
    : { [K in Segment<Path>]: Leaf };

/** Eden would call a path segment that has the name of a method. `./delete` is the same address without that name. */
type Segment<Part extends string> = Part extends `{${infer Name}}`
  ? `:${Name}`
  : Part extends Method
    ? `./${Part}`
    : Part;

type Methods<Item> = {
  [M in Method as M extends keyof Item ? (Item[M] extends object ? M : never) : never]: M extends keyof Item
    ? Endpoint<Item[M]>
    : never;
};

type Endpoint<Operation> = {
  body: Body<Operation>;
  params: Given<Operation, 'path'>;
  query: Given<Operation, 'query'>;
  headers: Given<Operation, 'header'>;
  response: Operation extends { responses: infer Answers }
    ? { [Status in keyof Answers & number]: Answer<Answers[Status]> }
    : never;
};

/** Parameters of one kind; `unknown`, as in Elysia, if there are none. */
type Given<Operation, Kind extends string> = Operation extends { parameters: infer All }
  ? Kind extends keyof All
    ? NonNullable<All[Kind]> extends never
      ? unknown
      : undefined extends All[Kind]
        ? Partial<NonNullable<All[Kind]>>
        : All[Kind]
    : unknown
  : unknown;

type Body<Operation> = Operation extends { requestBody: { content: infer Content } }
  ? Sent<Content>
  : Operation extends { requestBody?: { content: infer Content } }
    ? Sent<Content> | undefined
    : undefined;

/** In the types of a description, a file is a string. */
type Sent<Content> = {
  [Type in keyof Content]: Type extends 'multipart/form-data'
    ? {
        [Field in keyof Content[Type]]:
          | Content[Type][Field]
          | (string extends Content[Type][Field] ? Blob : never);
      }
    : Type extends 'application/json'
      ? Content[Type]
      : never;
}[keyof Content];

type Answer<Described> = Described extends { content: infer Content }
  ? {
      [Type in keyof Content]: Type extends 'text/event-stream' ? AsyncGenerator<unknown> : Content[Type];
    }[keyof Content]
  : undefined;

type Intersection<Union> = (Union extends unknown ? (one: Union) => void : never) extends (
  all: infer All extends RouteBase,
) => void
  ? All
  : never;
