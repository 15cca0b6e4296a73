import type { DefinitionBase, Elysia, MetadataBase, RouteBase, SingletonBase } from 'elysia';

/**
 * A server as `treaty` of `@elysiajs/eden` takes it: `treaty<App<paths>>(url)`. `Paths` are what `openapi-typescript` makes of the
 * server's `/openapi.json`, so that every route that is described has its parameters, its answers and its errors.
 */
export type App<Paths> = Elysia<'', SingletonBase, DefinitionBase, MetadataBase, Routes<Paths>>;

type Method = 'get' | 'put' | 'post' | 'delete' | 'options' | 'head' | 'patch';

type Routes<Paths> = Intersection<
  { [P in keyof Paths]: P extends `/${infer Rest}` ? Nested<Rest, Methods<Paths[P]>> : never }[keyof Paths]
>;

/** `api/proxy/{id}` as objects in objects, whose keys Eden reads. */
type Nested<Path extends string, Leaf> = Path extends `${infer First}/${infer Rest}`
  ? { [K in Segment<First>]: Nested<Rest, Leaf> }
  : Path extends ''
    ? Leaf
    : { [K in Segment<Path>]: Leaf };

/** Eden would call a part of a path that has the name of a method, which `./delete` is not, though it is the same address. */
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

/** Parameters of one kind; `unknown` is what Elysia says where there are none. */
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

/** A file is a string in the types of a description. */
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
