// @ts-check
/** @typedef {import('./examples.js').ExampleRequest} ExampleRequest */
/** @typedef {import('./examples.js').ExampleLanguage} ExampleLanguage */

/** @type {typeof import('./examples.js').LANGUAGES} */
export const LANGUAGES = { curl: 'curl', javascript: 'JavaScript', python: 'Python', go: 'Go' };

const WRITERS = { curl, javascript, python, go };
/** Longer command lines are broken. */
const WIDTH = 90;
const TOKEN = 'PICPOOL_TOKEN';
/** Where an answer is saved that is not for a screen. */
const FILE = 'answer.bin';

/** @type {typeof import('./examples.js').exampleOf} */
export function exampleOf(language, request) {
  return WRITERS[language](request);
}

/** @param {ExampleRequest} request */
function curl({ method, url, headers, token, body, answer }) {
  const parts = ['curl'];
  if (answer === 'events') parts.push('-N');
  if (answer === 'file') parts.push(`-o ${FILE}`);
  if (method !== (body ? 'POST' : 'GET')) parts.push(`-X ${method}`);
  for (const [name, value] of headers) parts.push(`-H ${shell(`${name}: ${value}`)}`);
  if (token) parts.push(`-H "Authorization: Bearer $${TOKEN}"`);
  if (body?.kind === 'json') parts.push(`--json ${shell(body.text)}`);
  else if (body) parts.push(...body.fields.map((field) => curlField(body.kind, field)));
  parts.push(shell(url));
  const line = parts.join(' ');
  return line.length <= WIDTH ? line : parts.join(' \\\n  ').replace(' \\\n  ', ' ');
}

/**
 * @param {'multipart' | 'urlencoded'} kind
 * @param {{ name: string, value: string, isFile: boolean }} field
 */
function curlField(kind, { name, value, isFile }) {
  if (kind === 'urlencoded') return `--data-urlencode ${shell(`${name}=${value}`)}`;
  return isFile ? `-F ${shell(`${name}=@${value}`)}` : `--form-string ${shell(`${name}=${value}`)}`;
}

/**
 * Quotes a word for a POSIX shell.
 * @param {string} word
 */
function shell(word) {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

/** @param {ExampleRequest} request */
function javascript({ method, url, headers, token, body, answer }) {
  const lines = [];
  const names = [];
  if (body?.kind === 'multipart' && body.fields.some(({ isFile }) => isFile)) names.push('openAsBlob');
  if (names.length > 0) lines.push(`import { ${names.join(', ')} } from 'node:fs';`);
  if (answer === 'file') lines.push(`import { writeFile } from 'node:fs/promises';`);
  if (lines.length > 0) lines.push('');
  if (body && body.kind !== 'json') {
    lines.push(`const body = new ${body.kind === 'multipart' ? 'FormData' : 'URLSearchParams'}();`);
    for (const { name, value, isFile } of body.fields) {
      const given = isFile ? `await openAsBlob(${quoted(value)}), ${quoted(value)}` : quoted(value);
      lines.push(`body.append(${quoted(name)}, ${given});`);
    }
    lines.push('');
  }
  const pairs = headers.map(([name, value]) => `${quoted(name)}: ${quoted(value)}`);
  if (token) pairs.push(`Authorization: \`Bearer \${process.env.${TOKEN}}\``);
  if (body?.kind === 'json') pairs.push(`'Content-Type': 'application/json'`);
  const options = [];
  if (method !== 'GET') options.push(`  method: '${method}',`);
  if (pairs.length > 0) options.push(`  headers: { ${pairs.join(', ')} },`);
  if (body?.kind === 'json') options.push(`  body: ${scriptBody(body.text)},`);
  else if (body) options.push('  body,');
  const given = options.length === 0 ? '' : `, {\n${options.join('\n')}\n}`;
  lines.push(`const response = await fetch(${quoted(url)}${given});`);
  if (answer === 'json') lines.push('console.log(await response.json());');
  if (answer === 'text') lines.push('console.log(await response.text());');
  if (answer === 'file')
    lines.push(`await writeFile('${FILE}', new Uint8Array(await response.arrayBuffer()));`);
  if (answer === 'events') {
    lines.push('for await (const piece of response.body.pipeThrough(new TextDecoderStream())) {');
    lines.push('  console.log(piece);', '}');
  }
  return lines.join('\n');
}

/**
 * Returns JSON as an object literal, and anything else unchanged.
 * @param {string} text
 */
function scriptBody(text) {
  const value = parsed(text);
  if (value === undefined) return quoted(text);
  return `JSON.stringify(${JSON.stringify(value, null, 2).replaceAll('\n', '\n  ')})`;
}

/** @param {ExampleRequest} request */
function python({ method, url, headers, token, body, answer }) {
  const lines = [...(token ? ['import os'] : []), 'import requests', ''];
  const given = [`    ${JSON.stringify(url)},`];
  const pairs = headers.map(([name, value]) => `${JSON.stringify(name)}: ${JSON.stringify(value)}`);
  if (token) pairs.push(`"Authorization": "Bearer " + os.environ["${TOKEN}"]`);
  const value = body?.kind === 'json' ? parsed(body.text) : undefined;
  if (body?.kind === 'json' && value === undefined) pairs.push('"Content-Type": "application/json"');
  if (pairs.length > 0) given.push(`    headers={${pairs.join(', ')}},`);
  if (body?.kind === 'json') {
    given.push(
      value === undefined ? `    data=${JSON.stringify(body.text)},` : `    json=${literal(value)},`,
    );
  } else if (body) {
    const entry = (
      /** @type {{ name: string, value: string, isFile: boolean }} */ { name, value: text, isFile },
    ) =>
      `(${JSON.stringify(name)}, ${isFile ? `open(${JSON.stringify(text)}, "rb")` : JSON.stringify(text)})`;
    const [files, texts] = [true, false].map((isFile) =>
      body.fields.filter((field) => field.isFile === isFile),
    );
    if (files?.length) given.push(`    files=[${files.map(entry).join(', ')}],`);
    if (texts?.length) given.push(`    data=[${texts.map(entry).join(', ')}],`);
  }
  if (answer === 'events') given.push('    stream=True,');
  const short = given.length === 1 ? JSON.stringify(url) : `\n${given.join('\n')}\n`;
  lines.push(`response = requests.${method.toLowerCase()}(${short})`);
  if (answer === 'json') lines.push('print(response.json())');
  if (answer === 'text') lines.push('print(response.text)');
  if (answer === 'file') lines.push(`open("${FILE}", "wb").write(response.content)`);
  if (answer === 'events') lines.push('for line in response.iter_lines():', '    print(line.decode())');
  return lines.join('\n');
}

/**
 * Returns a JSON value as a Python literal.
 * @param {unknown} value
 * @returns {string}
 */
function literal(value) {
  if (value === null) return 'None';
  if (typeof value === 'boolean') return value ? 'True' : 'False';
  if (Array.isArray(value)) return `[${value.map(literal).join(', ')}]`;
  if (typeof value !== 'object') return JSON.stringify(value);
  return `{${Object.entries(value)
    .map(([name, one]) => `${JSON.stringify(name)}: ${literal(one)}`)
    .join(', ')}}`;
}

/** @param {ExampleRequest} request */
function go({ method, url, headers, token, body, answer }) {
  const packages = ['io', 'net/http', 'os'];
  const lines = [];
  let source = 'nil';
  const sent = [...headers];
  if (body?.kind === 'json') {
    packages.push('strings');
    source = `strings.NewReader(${goText(body.text)})`;
    sent.push(['Content-Type', 'application/json']);
  } else if (body?.kind === 'urlencoded') {
    packages.push('net/url', 'strings');
    lines.push('\tform := url.Values{}');
    for (const { name, value } of body.fields) lines.push(`\tform.Add(${goText(name)}, ${goText(value)})`);
    source = 'strings.NewReader(form.Encode())';
    sent.push(['Content-Type', 'application/x-www-form-urlencoded']);
  } else if (body) {
    packages.push('bytes', 'mime/multipart');
    source = '&body';
    lines.push('\tvar body bytes.Buffer', '\tform := multipart.NewWriter(&body)');
    for (const { name, value, isFile } of body.fields) {
      if (isFile) {
        lines.push(`\tfile, err := os.ReadFile(${goText(value)})`, ...CHECKED);
        lines.push(
          `\tpart, _ := form.CreateFormFile(${goText(name)}, ${goText(value)})`,
          '\tpart.Write(file)',
        );
      } else lines.push(`\tform.WriteField(${goText(name)}, ${goText(value)})`);
    }
    lines.push('\tform.Close()');
  }
  lines.push(`\trequest, err := http.NewRequest("${method}", ${goText(url)}, ${source})`, ...CHECKED);
  for (const [name, value] of sent) lines.push(`\trequest.Header.Set(${goText(name)}, ${goText(value)})`);
  if (body?.kind === 'multipart')
    lines.push('\trequest.Header.Set("Content-Type", form.FormDataContentType())');
  if (token) lines.push(`\trequest.Header.Set("Authorization", "Bearer "+os.Getenv("${TOKEN}"))`);
  lines.push('\tresponse, err := http.DefaultClient.Do(request)', ...CHECKED);
  lines.push('\tdefer response.Body.Close()');
  if (answer === 'file')
    lines.push(`\tfile, err := os.Create("${FILE}")`, ...CHECKED, '\tio.Copy(file, response.Body)');
  else lines.push('\tio.Copy(os.Stdout, response.Body)');
  const imports = packages.sort().map((name) => `\t"${name}"`);
  return `package main\n\nimport (\n${imports.join('\n')}\n)\n\nfunc main() {\n${lines.join('\n')}\n}`;
}

const CHECKED = ['\tif err != nil {', '\t\tpanic(err)', '\t}'];

/**
 * Returns a Go string, raw if that is easier to read.
 * @param {string} text
 */
function goText(text) {
  return /["\\\n]/.test(text) && !/[`\r]/.test(text) ? `\`${text}\`` : JSON.stringify(text);
}

/**
 * Returns a JavaScript string in single quotes.
 * @param {string} text
 */
function quoted(text) {
  return `'${JSON.stringify(text).slice(1, -1).replaceAll('\\"', '"').replaceAll("'", "\\'")}'`;
}

/**
 * Parses JSON; returns `undefined` if the text is not JSON.
 * @param {string} text
 */
function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
