/** The API page. Texts about single calls are in the API description, in English. */
export const api = {
  title: 'API',
  summary: 'The API of this server, with examples that you can run here.',
  lead: (version: string) => `Version ${version}. Every example runs against this server.`,
  calls: 'Operations',
  token: 'Access token',
  tokenHint: 'Kept in this tab only. “Send” uses it; examples read it from PICPOOL_TOKEN.',
  errors: 'Errors',
  errorsAre:
    'Every error is JSON: a sentence for people, a code for programs, and the ID of the request. After 429 and 503, Retry-After says how many seconds to wait.',
  link: (name: string) => `Link to ${name}`,
  example: 'Example',
  tryIt: 'Try it',
  send: 'Send',
  body: 'Body',
  places: { path: 'path', query: 'query', header: 'header', cookie: 'cookie', body: 'body' },
  required: 'required',
  preset: (value: string) => `default \`${value}\``,
  responses: 'Responses',
  exampleOf: (status: string) => `Example of response ${status}`,
};
