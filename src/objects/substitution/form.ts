import { compileNamePattern } from './perl.ts';
import { brokenExpression, compileTemplate, type Template } from './template.ts';

/** `/pattern/text/` with exactly three slashes. The text is literal. */
const slashForm = /^\/([^/]*)\/([^/]*)\/$/;

/** The value of a node, by its name; empty when the attribute is to be unset. */
type Form = (node: string) => string;

/** True when the stored text is a pattern of one of the two forms (cheap: first character test first). */
export function isPattern(stored: string): boolean {
  if (stored.startsWith('|')) return isBarForm(stored);
  return stored.startsWith('/') && slashForm.test(stored);
}

/** `|pattern|replacement|` or `|replacement|`; the first bar inside ends the pattern, later ones belong to the replacement. */
function isBarForm(stored: string): boolean {
  return stored.length > 1 && stored.startsWith('|') && stored.endsWith('|');
}

/** What a pattern value does, parsed once for all nodes. */
export function compileForm(stored: string): Form {
  const slashes = slashForm.exec(stored);
  if (slashes) {
    const [, pattern = '', text = ''] = slashes;
    return replacing(pattern, () => text);
  }
  const inside = stored.slice(1, -1);
  const bar = inside.indexOf('|');
  if (bar >= 0) return replacing(inside.slice(0, bar), compileTemplate(inside.slice(bar + 1)));
  const template = compileTemplate(inside);
  return (node) => template(digitCaptures(node));
}

/** What is wrong with a pattern value, if anything. */
export function formProblem(stored: string): string | undefined {
  const slashes = slashForm.exec(stored);
  const inside = stored.slice(1, -1);
  const bar = slashes ? -1 : inside.indexOf('|');
  const pattern = slashes ? slashes[1]! : bar < 0 ? undefined : inside.slice(0, bar);
  if (pattern !== undefined && compileNamePattern(pattern) === undefined)
    return `"${pattern}" is no regular expression that can be matched`;
  const broken = slashes ? undefined : brokenExpression(inside.slice(bar + 1));
  return broken === undefined ? undefined : `"${broken}" is no expression that can be computed`;
}

/** The name with its first match replaced; a name without match, or any name when the pattern is broken, stays as it is. */
function replacing(source: string, template: Template): Form {
  const pattern = compileNamePattern(source);
  if (pattern === undefined) return (node) => node;
  return (node) => {
    const match = pattern.exec(node);
    if (match === undefined) return node;
    const end = match.index + (match.groups[0] ?? '').length;
    return node.slice(0, match.index) + template(match.groups) + node.slice(end);
  };
}

/** The captures of the short form: the name, then each of its digit runs without leading zeros. */
function digitCaptures(node: string): string[] {
  const captures = [node];
  const { length } = node;
  for (let i = 0; i < length; ) {
    if (!isDigit(node, i)) {
      i++;
      continue;
    }
    let start = i;
    while (i < length && isDigit(node, i)) i++;
    while (start < i - 1 && node[start] === '0') start++;
    captures.push(node.slice(start, i));
  }
  return captures;
}

function isDigit(text: string, at: number): boolean {
  const code = text.charCodeAt(at);
  return code >= 48 && code <= 57;
}
