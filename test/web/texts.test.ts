// What the console says stands in web/texts, and nowhere else.
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseSync } from 'rolldown/utils';
import { describe, expect, it } from 'vitest';

const checkout = join(import.meta.dirname, '../..');
const files = (pattern: string): string[] => globSync(pattern, { cwd: checkout });
const codeOf = (file: string): string => readFileSync(join(checkout, file), 'utf8');

/** A part of a program as its parser has it. */
interface Syntax {
  readonly type: string;
  readonly start: number;
  readonly [member: string]: unknown;
}

/** A text in a program, with what it is a part of, the nearest first. */
interface Found {
  readonly text: string;
  readonly start: number;
  readonly within: readonly Syntax[];
}

const isSyntax = (value: unknown): value is Syntax => typeof (value as Syntax | null)?.type === 'string';

/** What JSX shows between elements, strings, and templates with … where they have values. */
function textsIn(file: string, code: string): Found[] {
  const { program, errors } = parseSync(file, code);
  expect(errors).toEqual([]);
  const found: Found[] = [];
  const visit = (value: unknown, within: readonly Syntax[]): void => {
    if (Array.isArray(value)) for (const each of value) visit(each, within);
    if (!isSyntax(value)) return;
    const { type, start } = value;
    if (type.startsWith('Import') || /^TS(?!As|Satisfies|NonNull)/.test(type)) return;
    if (type === 'JSXText' || (type === 'Literal' && typeof value['value'] === 'string'))
      found.push({ text: String(value['value']), start, within });
    if (type === 'TemplateLiteral') {
      const parts = value['quasis'] as readonly { readonly value: { readonly cooked: string } }[];
      found.push({ text: parts.map((part) => part.value.cooked).join('…'), start, within });
    }
    for (const member of Object.values(value)) visit(member, [value, ...within]);
  };
  visit(program, []);
  return found;
}

/** Attributes of elements that somebody sees or hears; parts of pages have others of these names and more. */
const shown =
  /^(title|alt|placeholder|label|aria-label|aria-description|aria-roledescription|aria-valuetext|about|harm|verb)$/;
/** Attributes for the browser. */
const silent = /^(class|style|d|viewBox|line|curl|id|href)$/;

/** Whether the value of an expression is this text, perhaps together with others. */
const passes = ({ type }: Syntax): boolean =>
  /^(JSXExpressionContainer|ConditionalExpression|LogicalExpression|TemplateLiteral|ParenthesizedExpression)$/.test(
    type,
  );

/** Whether a person sees the text where it stands, whatever it is. */
function isShown({ within }: Found): boolean {
  const [parent] = within.slice(within.findIndex((each) => !passes(each)));
  if (parent?.type === 'JSXAttribute') return shown.test(nameOf(parent));
  return within.some(({ type }) => type === 'JSXExpressionContainer') && parent?.type === 'JSXElement';
}

const nameOf = (attribute: Syntax): string => String((attribute['name'] as Syntax)['name']);

/** Lines of commands, which are the same in every language. */
const isCommand = (text: string): boolean => /^(muster|curl|tar|…) | --?\w/.test(text);

/** Names of keys are compared, and members of objects looked up. */
const isLookup = ({ within: [parent] }: Found): boolean =>
  ['BinaryExpression', 'SwitchCase', 'MemberExpression'].includes(parent?.type ?? '');

/** What looks like English and is not: class names, what a BMC calls the model of a machine. */
const others: readonly string[] = ['field mono', 'System Model'];

/** Two words of English, or one with a capital letter. */
const isEnglish = (text: string): boolean =>
  (/[a-z]{2}[,.;]? …?[a-z]{2}/i.test(text) || /^[A-Z][a-z]+[.…:]?$/.test(text)) && !others.includes(text);

function strays(file: string, code: string): string[] {
  const isStray = (found: Found): boolean => {
    const { text, within } = found;
    if (!/[a-z]/i.test(text)) return false;
    if (within[0]?.type === 'JSXElement' || within[0]?.type === 'JSXFragment' || isShown(found)) return true;
    if (within.some((each) => each.type === 'JSXAttribute' && silent.test(nameOf(each)))) return false;
    return isEnglish(text) && !isCommand(text) && !isLookup(found);
  };
  return textsIn(file, code)
    .filter(isStray)
    .map(({ text, start }) => `${file}:${code.slice(0, start).split('\n').length}: ${text.trim()}`);
}

describe('texts of the console', () => {
  it('stand in web/texts only', () => {
    const found = files('web/{*,{api,design,model,pages,terminal}/**/*}.{ts,tsx}');
    expect(found.length).toBeGreaterThan(50);
    expect(found.flatMap((file) => strays(file, codeOf(file)))).toEqual([]);
  });

  it.each([
    ['between elements', '<p>None.</p>', 'None.'],
    ['in a word between elements', '<p><b>{n}</b> free</p>', 'free'],
    ['that depends on something', "<p>{n > 1 ? 'free' : texts.none}</p>", 'free'],
    ['with a value', '<p>{`${n} free`}</p>', '… free'],
    ['that says what an element is', '<input aria-label="nodes" />', 'nodes'],
    ['that depends on something and says what an element is', "<b title={n > 1 ? 'more' : ''}>{n}</b>", 'more'],
    ['in a part of a page', '<Card title="nodes" />', 'nodes'],
    ['in a list', "['Power', n]", 'Power'],
    ['in an error', "new Error('No node answers.')", 'No node answers.'],
    ['with a value in an error', 'new Error(`The node ${n} is gone.`)', 'The node … is gone.'],
  ])('are found: one %s', (_, code, text) => {
    expect(strays('page.tsx', `export const made = (n: number) => ${code};`)).toEqual([`page.tsx:1: ${text}`]);
  });

  it('are not what browsers, servers and shells read', () => {
    const code = `export const made = (n: Node) => (
      <p class="body muted" id="one" onKeyDown={({ key }) => key === 'Enter' && write('PUT', \`/nodes/\${n}\`)}>
        <b class={\`badge \${n}\`}>{n['Serial Number']}</b> · <pre>{texts.line}</pre>
        <AskForm line={\`muster rpower \${n} on\`} title={texts.title(n)} />
      </p>
    );`;
    expect(strays('page.tsx', code)).toEqual([]);
  });

  it('are written once', () => {
    const places = new Map<string, string[]>();
    // Single words are names of columns and the like, each of which may change by itself.
    for (const file of files('web/texts/*.ts'))
      for (const { text } of textsIn(file, codeOf(file)))
        if (/[a-z]{2}.* .*[a-z]{2}/i.test(text)) places.set(text, [...(places.get(text) ?? []), file]);
    expect(places.size).toBeGreaterThan(200);
    expect([...places].filter(([, found]) => found.length > 1)).toEqual([]);
  });
});
