/** After these, a slash begins an expression, not a division. */
const BEFORE_EXPRESSION =
  /(^|[([{,;:=!&|?+\-*%<>~^]|\b(return|typeof|case|in|of|do|else|void|throw|await|yield))\s*$/;

/** Finds regular expressions and templates in the text of a TypeScript file, without those in comments and strings. */
export function partsOf(source: string) {
  const expressions: { line: number; source: string; flags: string }[] = [];
  const templates: string[] = [];
  let at = 0;
  /** The end of the code so far, in which each string, template and expression is an `x`. */
  let before = '';

  function template(): string {
    let text = '';
    while (at < source.length) {
      const sign = source[at++] ?? '';
      if (sign === '`') return text;
      if (sign === '\\') at++;
      else if (sign === '$' && source[at] === '{') {
        at++;
        before = '';
        code('}');
        text += '\0';
      } else text += sign;
    }
    return text;
  }

  function quoted(quote: string): void {
    while (at < source.length && source[at] !== quote) at += source[at] === '\\' ? 2 : 1;
    at++;
  }

  function expression(): void {
    const start = at;
    for (let inClass = false; at < source.length && (inClass || source[at] !== '/'); at++) {
      if (source[at] === '\\') at++;
      else if (source[at] === '[') inClass = true;
      else if (source[at] === ']') inClass = false;
    }
    const flags = /^[a-z]*/.exec(source.slice(at + 1, at + 11))?.[0] ?? '';
    const line = source.slice(0, start).split('\n').length;
    expressions.push({ line, source: source.slice(start, at), flags });
    at += 1 + flags.length;
  }

  function code(end: string | null): void {
    while (at < source.length) {
      const isHtml = source.startsWith('html`', at);
      if (isHtml) at += 4;
      const sign = source[at++] ?? '';
      if (sign === end) return;
      let token = ' x';
      if (sign === '/' && source[at] === '/') [token, at] = ['', endOr(source.indexOf('\n', at))];
      else if (sign === '/' && source[at] === '*') [token, at] = ['', endOr(source.indexOf('*/', at)) + 2];
      else if (sign === '/' && BEFORE_EXPRESSION.test(before)) expression();
      else if (sign === "'" || sign === '"') quoted(sign);
      else if (sign === '`') {
        const text = template();
        if (isHtml) templates.push(text);
      } else if (sign === '{') {
        before = sign;
        code('}');
        token = '}';
      } else token = sign;
      before = (before + token).slice(-20);
    }
  }

  const endOr = (end: number) => (end < 0 ? source.length : end);
  code(null);
  return {
    expressions,
    /** The texts of templates `html`; what is put in stands as `\0`. */
    templates,
  };
}
