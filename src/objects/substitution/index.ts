import { cachedByText } from '../../core/cache.ts';
import { compileNamePattern } from './simple.ts';
import { brokenExpression, compileTemplate, type Template } from './template.ts';

/** A part of a nic column; `form` is its value when that is a pattern, and `text` then only what stands before it. */
interface NicPart {
  text: string;
  form?: string;
}

const nicName = /[^,!|()]+!/y;

/** Splits `nic!value,nic!value` at the commas that are not inside a `|...|` value. */
function splitNics(stored: string): NicPart[] {
  const parts: NicPart[] = [];
  // Where no bar ends a value any more, none does further on; looking again for each part would take quadratic time.
  let formsLeft = true;
  for (let start = 0; start <= stored.length; ) {
    const value = endOfName(stored, start);
    const opens: boolean = formsLeft && value > start && stored[value] === '|';
    const formEnd: number = opens ? endOfForm(stored, value) : -1;
    if (opens) formsLeft = formEnd >= 0;
    const comma = stored.indexOf(',', start);
    const end = formEnd >= 0 ? formEnd : comma < 0 ? stored.length : comma;
    parts.push(
      formEnd >= 0
        ? { text: stored.slice(start, value), form: stored.slice(value, end) }
        : { text: stored.slice(start, end) },
    );
    start = end + 1;
  }
  return parts;
}

function endOfName(stored: string, start: number): number {
  nicName.lastIndex = start;
  return nicName.test(stored) ? nicName.lastIndex : start;
}

/** Behind the first bar that ends the column or is followed by a comma and the next nic; -1 when there is none. */
function endOfForm(stored: string, opening: number): number {
  for (let bar = stored.indexOf('|', opening + 1); bar >= 0; bar = stored.indexOf('|', bar + 1)) {
    const next = bar + 1;
    if (next === stored.length) return next;
    if (stored[next] === ',' && endOfName(stored, next + 1) > next + 1) return next;
  }
  return -1;
}

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
function compileForm(stored: string): Form {
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
function formProblem(stored: string): string | undefined {
  const slashes = slashForm.exec(stored);
  const inside = stored.slice(1, -1);
  const bar = slashes ? -1 : inside.indexOf('|');
  const pattern = slashes ? slashes[1]! : bar < 0 ? undefined : inside.slice(0, bar);
  if (pattern !== undefined && compileNamePattern(pattern) === undefined)
    return `"${pattern}" is not a regular expression that can be matched`;
  const broken = slashes ? undefined : brokenExpression(inside.slice(bar + 1));
  return broken === undefined ? undefined : `"${broken}" is not an expression that can be computed`;
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

/** A group's value is computed for every member. */
const cachedForms = 2000;

const formOf = cachedByText(cachedForms, compileForm);
const problemOf = cachedByText(cachedForms, (stored) => formProblem(stored) ?? '');
const nicPartsOf = cachedByText(cachedForms, splitNics);

/** What is wrong with a pattern, if anything. */
export const patternProblem = (pattern: string): string | undefined => problemOf(pattern) || undefined;

/** The patterns in a stored value: itself, or those of its nics. */
export function patternsIn(table: string, stored: string): readonly string[] {
  if (isPattern(stored)) return [stored];
  if (table !== 'nics' || !stored.includes('!|')) return [];
  return nicPartsOf(stored).flatMap(({ form }) => form ?? []);
}

/** The effective value for the node; undefined when the result is empty (unset). Plain text comes back unchanged. */
export function substitute(stored: string, node: string): string | undefined {
  return (isPattern(stored) ? formOf(stored)(node) : stored) || undefined;
}

/** The same for a nic column: the whole column or the values of its `nic!value` parts may be patterns. A nic whose value comes out empty is left out. */
export function substituteNics(stored: string, node: string): string | undefined {
  if (isPattern(stored) || !stored.includes('!|')) return substitute(stored, node);
  const values: string[] = [];
  for (const { text, form } of nicPartsOf(stored)) {
    const value = form === undefined ? '' : substitute(form, node);
    if (value !== undefined) values.push(text + value);
  }
  return values.join(',') || undefined;
}
