// What a server shows holds none of the secrets it knows as such. People write others into places that are not for secrets: comments,
// addresses, arguments. What looks like one by its form is hidden in facts that are sent to somebody else.
import { secretWords } from '../../core/secret-words.ts';
import { hidden } from '../lines.ts';

type Rule = readonly [pattern: RegExp, shown: string];

const forms: readonly Rule[] = [
  [/-----BEGIN [A-Z0-9 ]*PRIVATE KEY-----[^]*?(?:-----END [A-Z0-9 ]*PRIVATE KEY-----|$)/g, hidden],
  // Hashes of passwords.
  [/\$(?:1|2[abxy]|5|6|7|y|gy|apr1)\$[^\s:"',]+/g, hidden],
  // The user of an address, with anything in the password.
  [/:\/\/(?:[^\s"'/@]*:[^\s"']*|[^\s"'/@]*)@/g, `://${hidden}@`],
  [/\b(bearer|basic|digest)\s+[\w.~+/=-]{8,}/gi, `$1 ${hidden}`],
];

/** A name, and what sets its value off; an option may have its value behind a blank. */
const assignment = /([\w.-]+)["']?(?:\s*(?:[=!][=~]|=|%3d|:(?!\/\/))\s*|\s+(?=\S))["']?/gi;

/** A text up to the value of a secret: a password may hold anything, so all that follows may be part of it. */
export function textWithoutSecrets(text: string): string {
  const safe = forms.reduce((each, [pattern, shown]) => each.replace(pattern, shown), text);
  for (const found of safe.matchAll(assignment)) {
    const [whole, name = ''] = found;
    const isOption = name.startsWith('-');
    if (!isOption && !/[=:]|%3d/i.test(whole.slice(name.length))) continue;
    const end = found.index + whole.length;
    if (secretWords.test(name) && end < safe.length && !safe.startsWith(hidden, end))
      return safe.slice(0, end) + hidden;
  }
  return safe;
}

/** The names of what says what a value beside it is. */
const namings = ['key', 'name', 'attribute', 'attr', 'setting'];

/** Data with secrets hidden, by names and by form. */
export function withoutSecrets(value: unknown): unknown {
  if (typeof value === 'string') return textWithoutSecrets(value);
  if (Array.isArray(value)) return value.map(withoutSecrets);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value);
  const isNamed = entries.some(
    ([name, each]) => namings.includes(name) && typeof each === 'string' && secretWords.test(each),
  );
  return Object.fromEntries(
    entries.map(([name, each]) => {
      const isSecret = secretWords.test(name) || (isNamed && name === 'value');
      return [name, isSecret && typeof each === 'string' && each !== '' ? hidden : withoutSecrets(each)];
    }),
  );
}

/** Lines of a log, most of which are JSON. */
export const linesWithoutSecrets = (text: string): string =>
  text
    .split('\n')
    .map((line) => {
      if (!line.startsWith('{')) return textWithoutSecrets(line);
      try {
        return JSON.stringify(withoutSecrets(JSON.parse(line)));
      } catch {
        return textWithoutSecrets(line);
      }
    })
    .join('\n');
