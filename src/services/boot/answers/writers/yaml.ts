import { randomBytes } from 'node:crypto';
import type { Document, Node, Pair, Scalar } from 'yaml';
import { Fault } from '../../../../core/errors.ts';
import type { Piece, Value } from '../pieces.ts';
import { checkText, plainOnly } from './writer.ts';

/** What shells read. */
const commands = /(^|-)commands$|^(runcmd|bootcmd|content)$/;
const number = /^(0|[1-9]\d*)$/;
/** What can be a part of a text without quotes: it neither ends it nor becomes a key or a comment. */
const partOfPlain = /^[A-Za-z0-9](?:[A-Za-z0-9_@%+=./:-]*[A-Za-z0-9_@%+=./-])?$/;
/** cloud-init reads YAML 1.1, in which "yes" is no text, and takes the last of keys that are there twice. */
const format = { version: '1.1', uniqueKeys: false, strict: false, lineWidth: 0 } as const;

/**
 * The pieces as a file for cloud-init. The package `yaml` parses it with a mark in place of each value; scalars that have marks are
 * written anew with their values, and all else stays as the template has it.
 */
export async function renderYaml(pieces: readonly Piece[]): Promise<string> {
  const { parseDocument, stringify, visit } = await import('yaml');
  const marks = new Marks();
  const marked = pieces.map((piece) => (typeof piece === 'string' ? piece : marks.for(piece))).join('');
  const inQuotes = (text: string, defaultStringType: Scalar.Type): string =>
    stringify(text, { ...format, defaultStringType }).trimEnd();

  const written = (scalar: Scalar, source: string, path: Path): string => {
    if (source.includes('\n')) return marks.fill(source, (value) => plainOnly(value, 'in a text of several lines'));
    if (isCommand(path)) return marks.fill(source, (value) => plainOnly(value, 'in a command'));
    if (scalar.type !== 'PLAIN') return inQuotes(marks.fill(String(scalar.value), textOf), scalar.type as Scalar.Type);
    if (marks.fill(source, () => '') !== '') return marks.fill(source, asPart);
    const text = marks.fill(source, textOf);
    return number.test(text) ? text : inQuotes(text, 'QUOTE_DOUBLE');
  };

  const document = parseDocument(marked, format);
  refuseErrors(document);
  let text = '';
  let end = 0;
  visit(document, {
    Scalar(_key, scalar, path) {
      if (!scalar.range) return;
      const [from, to] = scalar.range;
      const source = marked.slice(from, to);
      if (!marks.areIn(source)) return;
      text += marked.slice(end, from) + written(scalar, source, path);
      end = to;
    },
  });
  return marks.fill(text + marked.slice(end), (value) => plainOnly(value, 'in a comment or a name'));
}

/** Words that stand for values while a template is parsed. Nobody can know them before. */
class Marks {
  readonly #values = new Map<string, Value>();

  for(value: Value): string {
    checkText(value);
    const mark = `muster${randomBytes(16).toString('hex')}`;
    this.#values.set(mark, value);
    return mark;
  }

  areIn(text: string): boolean {
    return this.fill(text, () => '') !== text;
  }

  fill(text: string, write: (value: Value) => string): string {
    return text.replaceAll(/muster[0-9a-f]{32}/g, (mark) => {
      const value = this.#values.get(mark);
      return value ? write(value) : mark;
    });
  }
}

type Path = readonly (Document | Node | Pair)[];

const isCommand = (path: Path): boolean =>
  path.some((above) => 'key' in above && commands.test(String((above.key as Scalar | null)?.value ?? '')));

const textOf = ({ value }: Value): string => value;

function asPart({ value, from }: Value): string {
  if (partOfPlain.test(value)) return value;
  throw new Fault(
    'invalid',
    `${from} has the value ${JSON.stringify(value)}, which cannot be written here without quotes: put the text in the template between double quotes.`,
  );
}

function refuseErrors({ errors: [error] }: Document): void {
  if (!error) return;
  const [problem = ''] = error.message.split(/:?\n/, 1);
  throw new Fault(
    'invalid',
    `The template does not make YAML: ${problem}. Lines are counted with all that it includes.`,
  );
}
