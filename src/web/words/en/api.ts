/** The API page. Texts about single calls are in the API description, in English. */
export const api = {
  title: 'API',
  summary: 'The API of this server, with an example of each call.',
  lead: (version: string) =>
    `Version ${version}. The examples are for this server; fill in what is in capitals.`,
  calls: 'Operations',
  errors: 'Errors',
  errorsAre:
    'Every error is JSON: a sentence for people, a code for programs, and the ID of the request. After 429 and 503, Retry-After says how many seconds to wait.',
  link: (name: string) => `Link to ${name}`,
  example: 'Example',
  places: { path: 'path', query: 'query', header: 'header', cookie: 'cookie', body: 'body' },
  required: 'required',
  preset: (value: string) => `default \`${value}\``,
  responses: 'Responses',
  exampleOf: (status: string) => `Example of response ${status}`,
};
