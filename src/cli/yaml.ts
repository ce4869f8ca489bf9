/** What definitions are made of: texts in maps. */
export type Tree = { [name: string]: Tree | string };

interface ReadonlyTree {
  readonly [name: string]: ReadonlyTree | string;
}

/** A line of a file that cannot be read; the message says which and why. */
export class YamlError extends Error {}

const plain = /^[A-Za-z/][A-Za-z0-9 _./()+@=,-]*$/;
const reserved = /^(true|false|null|yes|no|on|off|y|n|~)$/i;
const isPlain = (text: string): boolean => plain.test(text) && !reserved.test(text) && !text.endsWith(' ');

/** Names and texts are quoted wherever a reader of YAML could take them for something else. */
export const yamlText = (text: string): string => (isPlain(text) ? text : JSON.stringify(text));

export function writeYaml(tree: ReadonlyTree, indent = ''): string {
  let text = '';
  for (const [name, value] of Object.entries(tree)) {
    if (typeof value === 'string') text += `${indent}${yamlText(name)}: ${yamlText(value)}\n`;
    else if (Object.keys(value).length === 0) text += `${indent}${yamlText(name)}: {}\n`;
    else text += `${indent}${yamlText(name)}:\n${writeYaml(value, `${indent}  `)}`;
  }
  return text;
}

interface Line {
  readonly number: number;
  readonly indent: number;
  readonly name: string;
  /** Undefined where nothing, or a comment, follows the colon. */
  readonly value: string | Tree | undefined;
}

/**
 * The part of YAML that definitions need: maps by indentation, plain and quoted texts, comments, and `{}`. All values are texts, so
 * that an address or a number stays what was written. Whatever else YAML has is refused with the line, never guessed.
 */
export function readYaml(text: string): Tree {
  const lines = text
    .split(/\r?\n/)
    .map((line, at) => readLine(line, at + 1))
    .filter((line) => line !== undefined);
  let at = 0;
  const map = (indent: number): Tree => {
    const tree = emptyTree();
    for (let line = lines[at]; line && line.indent >= indent; line = lines[at]) {
      if (line.indent > indent) throw new YamlError(`Line ${line.number} is indented further than the one before it.`);
      if (Object.hasOwn(tree, line.name))
        throw new YamlError(`Line ${line.number}: "${line.name}" stands there twice.`);
      at += 1;
      const next = lines[at];
      tree[line.name] = line.value ?? (next && next.indent > indent ? map(next.indent) : '');
      const behind = lines[at];
      if (line.value !== undefined && behind && behind.indent > indent)
        throw new YamlError(
          `Line ${behind.number} is indented further than the one before it, which has a value already.`,
        );
    }
    return tree;
  };
  const [first] = lines;
  if (first && first.indent > 0) throw new YamlError(`Line ${first.number} must not be indented.`);
  const tree = map(0);
  const left = lines[at];
  if (left) throw new YamlError(`Line ${left.number} is indented like none of the lines before it.`);
  return tree;
}

/** Without a prototype no name can be special. */
export const emptyTree = (): Tree => Object.create(null) as Tree;

function readLine(line: string, number: number): Line | undefined {
  const indent = line.length - line.trimStart().length;
  const rest = line.trim();
  if (rest === '' || rest.startsWith('#') || (rest === '---' && indent === 0)) return undefined;
  if (line.slice(0, indent).includes('\t')) throw new YamlError(`Line ${number} is indented by tabs; YAML has spaces.`);
  const fail = (why: string): never => {
    throw new YamlError(`Line ${number}: ${why}`);
  };
  const name = scalar(rest, fail, true);
  const after = rest.slice(name.length);
  if (!/^\s*:(\s|$)/.test(after)) fail('a name, a colon and a space are expected.');
  const written = after.replace(/^\s*:/, '').trim();
  if (written === '' || written.startsWith('#')) return { number, indent, name: name.text, value: undefined };
  if (/^\{\s*\}\s*(#.*)?$/.test(written)) return { number, indent, name: name.text, value: emptyTree() };
  const value = scalar(written, fail, false);
  if (!/^(\s+#.*|\s*)$/.test(written.slice(value.length))) fail('there is something behind the value.');
  return { number, indent, name: name.text, value: value.text };
}

type Fail = (why: string) => never;

function scalar(text: string, fail: Fail, isName: boolean): { readonly text: string; readonly length: number } {
  if (text.startsWith('"')) {
    const [quoted] = /^"(?:[^"\\]|\\.)*"/.exec(text) ?? fail('a quote is not closed.');
    try {
      return { text: JSON.parse(quoted) as string, length: quoted.length };
    } catch {
      return fail('what stands between the quotes is not written as in JSON.');
    }
  }
  if (text.startsWith("'")) {
    const [quoted] = /^'(?:[^']|'')*'/.exec(text) ?? fail('a quote is not closed.');
    return { text: quoted.slice(1, -1).replaceAll("''", "'"), length: quoted.length };
  }
  if (/^[[\]{}&*!|>%@`,?]/.test(text) || /^- |^-$/.test(text))
    return fail(`"${text.slice(0, 20)}" begins like something that is not read here; put texts in quotes.`);
  const end = isName ? /\s*:(\s|$)/.exec(text)?.index : / +#/.exec(text)?.index;
  if (isName && end === undefined) return fail('a name, a colon and a space are expected.');
  const found = text.slice(0, end).trimEnd();
  if (!isName && /:(\s|$)/.test(found)) return fail('a value with a colon and a space in it must stand in quotes.');
  return { text: found === '~' && !isName ? '' : found, length: found.length };
}
