/** A regular expression as a file has it. */
export interface Expression {
  /** `src/lib/csv.ts:7` */
  place: string;
  source: string;
  flags: string;
}

/** After these, a slash begins an expression, not a division. */
const BEFORE_EXPRESSION =
  /(^|[([{,;:=!&|?+\-*%<>~^]|\b(return|typeof|case|in|of|do|else|void|throw|await|yield))\s*$/;

/** Finds all regular expressions in the text of a TypeScript file, without those in comments and strings. */
export function expressionsIn(file: string, text: string): Expression[] {
  const found: Expression[] = [];
  /** One entry for each open template: the number of braces open inside its expression. */
  const templates: number[] = [];
  let before = '';
  let at = 0;
  while (at < text.length) {
    const rest = text.slice(at, at + 2);
    const char = text[at] ?? '';
    let end = at + 1;
    if (rest === '//') end = endOr(text, text.indexOf('\n', at));
    else if (rest === '/*') end = endOr(text, text.indexOf('*/', at) + 2);
    else if (char === '"' || char === "'") end = endOfQuoted(text, at + 1, char);
    else if (char === '`') end = endOfTemplate(text, at + 1, templates);
    else if (char === '}' && templates.at(-1) === 0) {
      templates.pop();
      end = endOfTemplate(text, at + 1, templates);
    } else if (char === '/' && BEFORE_EXPRESSION.test(before.slice(-20))) {
      end = endOfExpression(text, at + 1);
      const flags = /^[a-z]*/.exec(text.slice(end, end + 10))?.[0] ?? '';
      const line = text.slice(0, at).split('\n').length;
      found.push({ place: `${file}:${line}`, source: text.slice(at + 1, end - 1), flags });
      end += flags.length;
    } else if (templates.length > 0) {
      if (char === '{') templates.push((templates.pop() ?? 0) + 1);
      if (char === '}') templates.push((templates.pop() ?? 0) - 1);
    }
    // A string or an expression is a value; before the code in a template, nothing is.
    const token = end - at === 1 ? char : text.slice(at, end).endsWith('${') ? '{' : ' x';
    if (rest !== '//' && rest !== '/*') before = (before + token).slice(-20);
    at = end;
  }
  return found;
}

function endOr(text: string, end: number): number {
  return end < 2 ? text.length : end;
}

function endOfQuoted(text: string, from: number, quote: string): number {
  let at = from;
  while (at < text.length && text[at] !== quote) at += text[at] === '\\' ? 2 : 1;
  return at + 1;
}

/** Returns where the template, or its part before the next expression, ends. */
function endOfTemplate(text: string, from: number, templates: number[]): number {
  for (let at = from; at < text.length; at++) {
    if (text[at] === '\\') at++;
    else if (text[at] === '`') return at + 1;
    else if (text[at] === '$' && text[at + 1] === '{') {
      templates.push(0);
      return at + 2;
    }
  }
  return text.length;
}

function endOfExpression(text: string, from: number): number {
  let inClass = false;
  for (let at = from; at < text.length; at++) {
    const char = text[at];
    if (char === '\\') at++;
    else if (char === '[') inClass = true;
    else if (char === ']') inClass = false;
    else if (char === '/' && !inClass) return at + 1;
  }
  return text.length;
}
