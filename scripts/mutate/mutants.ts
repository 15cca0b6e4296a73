import { isAbsolute, resolve } from 'node:path';
import { type Node, SyntaxKind } from 'typescript/unstable/ast';
import {
  isBinaryExpression,
  isCallExpression,
  isConditionalExpression,
  isExpressionStatement,
  isIfStatement,
  isPrefixUnaryExpression,
  isWhileStatement,
} from 'typescript/unstable/ast/is';
import { API } from 'typescript/unstable/async';

/** One small change of a file. */
export interface Mutant {
  /** Counted from 1. */
  line: number;
  /** Offsets of the replaced text. */
  start: number;
  end: number;
  replacement: string;
}

/** Replacements of operators; others stay. */
const OPERATORS: Record<string, string> = {
  '&&': '||',
  '||': '&&',
  '===': '!==',
  '!==': '===',
  '<': '<=',
  '<=': '<',
  '>': '>=',
  '>=': '>',
  '+': '-',
  '-': '+',
  '*': '/',
  '/': '*',
};

/** Returns all mutants of each file, in order. */
export async function findMutants(root: string, files: readonly string[]): Promise<Map<string, Mutant[]>> {
  const api = new API({ cwd: root });
  try {
    const snapshot = await api.updateSnapshot({ openProjects: [resolve(root, 'tsconfig.json')] });
    const [project] = await snapshot.getProjects();
    const found = new Map<string, Mutant[]>();
    for (const file of files) {
      const path = isAbsolute(file) ? file : resolve(root, file);
      const source = await project?.program.getSourceFile(path);
      if (!source) throw new Error(`${file} is not part of tsconfig.json.`);
      found.set(file, mutantsOf(source, source.text));
    }
    return found;
  } finally {
    await api.close();
  }
}

function mutantsOf(source: Node, text: string): Mutant[] {
  const mutants: Mutant[] = [];

  function replace(node: Node, replacement: string): void {
    const start = startOf(node, text);
    mutants.push({ line: text.slice(0, start).split('\n').length, start, end: node.end, replacement });
  }

  function visit(node: Node): void {
    if (isBinaryExpression(node)) {
      const operator = text.slice(startOf(node.operatorToken, text), node.operatorToken.end);
      const other = OPERATORS[operator];
      if (other !== undefined) replace(node.operatorToken, other);
      if (operator === '??') replace(node, text.slice(startOf(node.right, text), node.right.end));
    } else if (isPrefixUnaryExpression(node) && node.operator === SyntaxKind.ExclamationToken) {
      replace(node, text.slice(startOf(node.operand, text), node.operand.end));
    } else if (node.kind === SyntaxKind.TrueKeyword) {
      replace(node, 'false');
    } else if (node.kind === SyntaxKind.FalseKeyword) {
      replace(node, 'true');
    } else if (isIfStatement(node) || isWhileStatement(node)) {
      if (isIfStatement(node)) replace(node.expression, 'true');
      replace(node.expression, 'false');
    } else if (isConditionalExpression(node)) {
      replace(node.condition, 'true');
      replace(node.condition, 'false');
    } else if (isExpressionStatement(node)) {
      // Log calls decide nothing.
      if (isCallExpression(node.expression) && /^log\b/.test(text.slice(startOf(node, text)))) return;
      replace(node, ';');
    }
    node.forEachChild((child) => {
      visit(child);
      return undefined;
    });
  }

  visit(source);
  return mutants.sort((a, b) => a.start - b.start);
}

/** Where a node begins after blanks and comments. */
function startOf(node: Node, text: string): number {
  const lead = /^(?:\s|\/\/[^\n]*|\/\*[\s\S]*?\*\/)*/.exec(text.slice(node.pos, node.end))?.[0] ?? '';
  return node.pos + lead.length;
}
