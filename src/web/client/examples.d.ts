/** A request as described by the form of the API page. */
export interface ExampleRequest {
  method: string;
  /** In full, with the query. */
  url: string;
  headers: [name: string, value: string][];
  /** True if the token is sent: examples read it from `PICPOOL_TOKEN`, so that nobody copies a secret. */
  token: boolean;
  body:
    | { kind: 'json'; text: string }
    | { kind: 'multipart' | 'urlencoded'; fields: { name: string; value: string; isFile: boolean }[] }
    | null;
  answer: 'json' | 'text' | 'file' | 'events';
}

export type ExampleLanguage = 'curl' | 'javascript' | 'python' | 'go';

export declare const LANGUAGES: Record<ExampleLanguage, string>;

/** Returns a program, or a command line, that sends the request and shows the answer. */
export declare function exampleOf(language: ExampleLanguage, request: ExampleRequest): string;
