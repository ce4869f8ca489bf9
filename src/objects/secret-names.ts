import { hidden, isCalledSecret } from '../database/secret-columns.ts';
import { tables } from '../database/tables.ts';
import { isSecret, nodeType } from './types.ts';

export { hidden };

/** Whether the values of what is called so are secrets: as the tables and attributes say, else as the words do. */
export function isSecretName(name: string): boolean {
  const [table = '', column = ''] = name.split('.', 2);
  const definition = tables.get(table);
  if (definition?.columns.includes(column)) return definition.secret.has(column);
  const attribute = nodeType.attributes.get(name);
  if (attribute) return attribute.at.some(isSecret);
  return isCalledSecret(name);
}

/** A name and what sets its value off, also as it stands in an address: `=`, `==`, `=~`, `!=`, `!~`, `%3D`, and `:` right before it. */
const assignment = /(?<![\w.-])([\w.-]+)"?\s*(?:[=!][=~]|=|%3d|:(?=[^\s/{[])|(?<="\s*):(?=\s*"))\s*/gi;

/** The row of a table whose name makes its value a secret: `key=apitoken,value=...`. */
const rowName = /(?<![\w.-])key"?(?:=|%3d|\s*:\s*")([\w.-]+)/gi;

/** A placeholder of a template says where a secret is stored, and gives none. */
const placeholder = /#SECRET:\w+:[^#\n]*:\w+#/g;

/** Where the value of the first secret in a text begins, and what it is called. */
export function secretIn(whole: string): { readonly name: string; readonly at: number } | undefined {
  if (!/[=~:]|%3d/i.test(whole)) return undefined;
  const text = whole.replaceAll(placeholder, (found) => '#'.repeat(found.length));
  const isNamed = text.matchAll(rowName).some(([, name]) => isCalledSecret(name!));
  for (const found of text.matchAll(assignment)) {
    const at = found.index + found[0].length;
    const name = found[1]!;
    const gives = isSecretName(name) || (isNamed && name === 'value');
    if (gives && at < text.length && !isShown(text.slice(at, at + 12))) return { name, at };
  }
  return undefined;
}

/** What hides a secret already, or stands for one in an example. */
const isShown = (value: string): boolean => /^(?:"?\.\.\.|x{8})(?!\w)/.test(value);

/** The user of a URL, or what may be a user and a password with anything in it: behind a colon that no port follows, up to the last `@`. */
const userOfUrl = /(:\/\/|\bhttps?:[\\/]*)(?:[^\s/?#@:]*:(?!\d+(?:[/\s"]|$))[^]*|[^\s/?#@]*)@/gi;

/** The text with passwords in URLs hidden, and the users they belong to. */
export const withoutUrlSecrets = (text: string): string =>
  /:\/\/|https?:/i.test(text) ? text.replaceAll(userOfUrl, `$1${hidden}@`) : text;

/** The text up to the value of a secret. A password may hold anything, so all that follows may be part of it. */
export function withoutSecrets(text: string): string {
  const safe = withoutUrlSecrets(text);
  const found = secretIn(safe);
  return found === undefined ? safe : safe.slice(0, found.at) + hidden;
}

/** The same for a sentence, which goes on behind the quotation marks that it repeats a text in. */
export function sentenceWithoutSecrets(text: string): string {
  const sentence = withoutUrlSecrets(text);
  const found = secretIn(sentence);
  if (found === undefined) return sentence;
  const before = sentence.slice(0, found.at);
  const isQuoted = before.split('"').length % 2 === 0;
  const end = isQuoted ? sentence.lastIndexOf('"') : -1;
  return before + hidden + (end >= found.at ? sentence.slice(end) : '.');
}

/** A name holds no `=`; what follows one is a value that was put there by mistake. */
export const shownName = (name: string): string => name.replace(/=.*/s, `=${hidden}`);
