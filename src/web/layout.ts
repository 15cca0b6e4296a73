import { type Html, html } from './html.ts';

/** Where the style sheet lies below the base path of the pages. */
export const STYLE_PATH = '/assets/picpool.css';

export interface PageOptions {
  title: string;
  /** Path under which the image host is mounted. */
  basePath: string;
  /** More elements of the head. */
  head?: Html;
  content: Html;
}

/** A whole page. */
export function layout({ title, basePath, head, content }: PageOptions): string {
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title}</title>
<link rel="stylesheet" href="${basePath}${STYLE_PATH}">
${head ?? null}
</head>
<body>
<main>
${content}
</main>
</body>
</html>
`.markup;
}
