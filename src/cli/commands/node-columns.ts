import { path } from '../client.ts';
import { type CliCommand, type Invocation, say, xcatCommand } from '../command.ts';
import { changing } from '../common-options.ts';
import { Refused, UsageError } from '../errors.ts';
import { errorLine, ignoredLine } from '../lines.ts';
import { removalConfirmed } from '../nodes/confirm.ts';
import { flag } from '../options.ts';

/** Names of columns that need no table. */
const shortNames: Readonly<Record<string, string>> = {
  groups: 'nodelist.groups',
  tags: 'nodelist.groups',
  mgt: 'nodehm.mgt',
};

/** The column that a word stands for; a word that is none stays what it is, and the server refuses it. */
export const columnNamed = (word: string): string => (Object.hasOwn(shortNames, word) ? shortNames[word]! : word);

export type Operator = '=' | ',=' | '^=' | '==' | '!=' | '=~' | '!~';

export interface ColumnWord {
  /** As it was written. */
  readonly written: string;
  readonly column: string;
  readonly operator: Operator;
  readonly value: string;
}

const comparison = /^(.+?)(==|!=|=~|!~)(.*)$/s;
const assignment = /^([^=]+?)([,^]?=)(.*)$/s;

/** `COLUMN==VALUE` and the like. */
export function criterionOf(word: string): ColumnWord | undefined {
  const found = comparison.exec(word);
  if (!found || found[1]!.includes('=')) return undefined;
  return { written: found[1]!, column: columnNamed(found[1]!), operator: found[2] as Operator, value: found[3]! };
}

/** A criterion, or `COLUMN=VALUE`, `COLUMN=@VALUE` (whatever the value begins with), `COLUMN,=ITEMS`, `COLUMN^=ITEMS`. */
export function columnWordOf(word: string): ColumnWord | undefined {
  const plain = /^([^=@]+)=@(.*)$/s.exec(word);
  const criterion = plain ? undefined : criterionOf(word);
  if (criterion) return criterion;
  const found = plain ? [word, plain[1], '=', plain[2]] : assignment.exec(word);
  if (!found) return undefined;
  const [, written = '', operator, value = ''] = found;
  const column = columnNamed(written);
  // A name without a table is shown with the dot that would stand behind one.
  return { written, column: column.includes('.') ? column : `${column}.`, operator: operator as Operator, value };
}

export function matches({ operator, value }: ColumnWord, given: string): boolean {
  if (operator === '==') return given === value;
  if (operator === '!=') return given !== value;
  const pattern = new RegExp(/^\/.*\/$/s.test(value) ? value.slice(1, -1) : value);
  return pattern.test(given) === (operator === '=~');
}

/** Says which columns there are not, where that is why the server refused; otherwise the error is somebody else's. */
export function reportUnknownColumn(error: unknown, { stderr, client }: Invocation): number {
  if (!(error instanceof Refused) || error.kind !== 'invalid' || error.missing.length === 0) throw error;
  stderr.line(errorLine(`${error.missing[0]!} not a valid table.column description`, client.server));
  return 1;
}

/** Column words of a command that writes, sorted by what they do. */
export interface ColumnWords {
  readonly set: Readonly<Record<string, string>>;
  readonly add: Readonly<Record<string, string>>;
  readonly remove: Readonly<Record<string, string>>;
  readonly criteria: readonly ColumnWord[];
  readonly malformed: readonly string[];
}

export function sortedWords(words: readonly string[]): ColumnWords {
  const [set, add, remove]: Record<string, string>[] = [{}, {}, {}];
  const criteria: ColumnWord[] = [];
  const malformed: string[] = [];
  const changes: Partial<Record<Operator, Record<string, string>>> = { '=': set!, ',=': add!, '^=': remove! };
  for (const word of words) {
    const found = columnWordOf(word);
    if (!found) malformed.push(word);
    else {
      const { column, operator, value, written } = found;
      const values = changes[operator];
      if (!values) criteria.push(found);
      // One of both would be dropped.
      else if (column in values && values[column] !== value)
        throw new UsageError(`${written}${operator} was given twice; give it once.`);
      else values[column] = value;
    }
  }
  checkTogether(set!, add!, remove!);
  return { set: set!, add: add!, remove: remove!, criteria, malformed };
}

/** Words for one column whose order would decide what comes of them. */
function checkTogether(
  set: Readonly<Record<string, string>>,
  add: Readonly<Record<string, string>>,
  remove: Readonly<Record<string, string>>,
): void {
  const both = Object.keys({ ...add, ...remove }).find((column) => column in set);
  if (both !== undefined)
    throw new UsageError(
      `${both} is set with = and changed with ,= or ^= in one call. Nothing was changed; write the whole value once with =.`,
    );
  for (const [column, items] of Object.entries(remove)) {
    const item = items.split(',').find((each) => each !== '' && add[column]?.split(',').includes(each));
    if (item !== undefined)
      throw new UsageError(`${column}: "${item}" is both put in and taken out. Nothing was changed; give it once.`);
  }
}

/** Sends `TABLE.COLUMN=VALUE` words; any other refuses them all. */
async function setColumns(
  invocation: Invocation,
  words: readonly string[],
  method: 'POST' | 'PUT',
  at: string,
): Promise<number> {
  const { client, stderr } = invocation;
  const { set, add, remove, criteria, malformed } = sortedWords(words);
  const strange = [...malformed, ...Object.keys({ ...add, ...remove }), ...criteria.map(({ written }) => written)];
  if (strange.length > 0) {
    await client.get('/tables');
    for (const word of strange) stderr.line(errorLine(`Malformed argument ${word} ignored.`, client.server));
    return 1;
  }
  try {
    await client.call(method, at, { body: { set } });
  } catch (error) {
    return reportUnknownColumn(error, invocation);
  }
  return 0;
}

export const nodeadd = xcatCommand({
  usage: `Usage: nodeadd NODERANGE groups=GROUP[,GROUP...] [TABLE.COLUMN=VALUE...]
       nodeadd -h | --help | -v | --version

Makes nodes, or sets columns of those that exist.`,
  common: changing,
  async run(invocation, { operands: [range = '', ...words] }) {
    if (words.length === 0) return say(invocation, nodeadd.usage, 1);
    return setColumns(invocation, words, 'POST', path('nodes', range, 'columns'));
  },
});

export const nodech = xcatCommand({
  usage: `Usage: nodech NODERANGE TABLE.COLUMN=VALUE [...]
       nodech -d NODERANGE TABLE [...]
       nodech -h | --help | -v | --version

Changes columns of nodes' own rows; groups and mgt need no table. An empty value hides what the groups give.

  TABLE.COLUMN=VALUE    set the column
  TABLE.COLUMN=@VALUE   the same for a value that begins with = or ~
  TABLE.COLUMN,=ITEMS   put items into a list
  TABLE.COLUMN^=ITEMS   take items out of a list
  TABLE.COLUMN==VALUE   only nodes that have this value (likewise !=, =~, !~)`,
  options: { 'delete|d': flag("remove the nodes' rows of the tables") },
  common: changing,
  async run(invocation, options) {
    const { client, stderr } = invocation;
    const [range = '', ...words] = options.operands;
    if (words.length === 0) return say(invocation, nodech.usage, 1);
    if (options.flag('delete')) return dropRows(invocation, range, words);
    const { set, add, remove, criteria, malformed } = sortedWords(words);
    const changes = Object.keys({ ...set, ...add, ...remove }).length > 0;
    if (malformed.length > 0 || !changes) {
      // Whether there are such nodes is said first.
      await client.get(path('nodes', range, 'nodels'));
      for (const word of malformed) stderr.line(errorLine(`Malformed argument ${word} ignored.`, client.server));
      if (malformed.length > 0) return 1;
      const conditions = words.join(' ');
      stderr.line(
        ignoredLine(
          conditions,
          `it selects nodes, and nothing is to be changed; add TABLE.COLUMN=VALUE, or list with nodels ${range} ${conditions}.`,
        ),
      );
      return 0;
    }
    // Not a part of the range: a value may have commas and signs that mean something there.
    const where = criteria.map(({ column, operator, value }) => `${column}${operator}${value}`);
    try {
      await client.call('PUT', path('nodes', range, 'columns'), { body: { set, add, remove, where } });
    } catch (error) {
      if (error instanceof Refused && error.isEmpty && where.length > 0) {
        stderr.line(errorLine(`No node of "${range}" meets ${where.join(' ')}. Nothing was changed.`, client.server));
        return 1;
      }
      return reportUnknownColumn(error, invocation);
    }
    return 0;
  },
});

async function dropRows({ client, stderr }: Invocation, range: string, tables: readonly string[]): Promise<number> {
  try {
    await client.call('PUT', path('nodes', range, 'columns'), { body: { tables } });
    return 0;
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    const unknown = error.missing.find((name) => tables.includes(name));
    if (unknown === undefined) throw error;
    stderr.line(errorLine(`ERROR: Unable to open table ${unknown} in configuration`, client.server));
    return 1;
  }
}

export const nodegrpch = xcatCommand({
  usage: `Usage: nodegrpch GROUP[,GROUP...] TABLE.COLUMN=VALUE [...]
       nodegrpch -h | --help | -v | --version

Gives groups values of columns. It clears the members' own values, so that all have the group's value.`,
  common: changing,
  async run(invocation, { operands: [groups, ...words] }) {
    if (groups === undefined) return say(invocation, nodegrpch.usage, 1);
    if (words.length === 0) {
      invocation.stderr.line(
        ignoredLine(`"${groups}"`, `nothing is to be changed; write nodegrpch ${groups} TABLE.COLUMN=VALUE.`),
      );
      return 0;
    }
    return setColumns(invocation, words, 'PUT', path('groups', groups, 'columns'));
  },
});

/** An option that was meant, such as --dry-run, must never become a word that is ignored. Web pages make long dashes of two hyphens. */
function checkSurplus(word: string): void {
  if (word.trim() === '')
    throw new UsageError(
      'One of the words is empty: leave it out, or give the nodes in its place. Nothing was removed.',
    );
  if (/^\p{Dash}/u.test(word))
    throw new UsageError(
      `"${word}" is not read as an option: options begin with one or two hyphens (-) and stand before any word "--". Nothing was removed.`,
    );
}

const removal = (name: string, what: string, most?: number): CliCommand => {
  const command = xcatCommand({
    usage: `Usage: ${name} NODERANGE
       ${name} -h | --help | -v | --version

${what}`,
    ...(most === undefined ? {} : { operands: most }),
    common: changing,
    async run(invocation, { operands: [range, ...others], common }) {
      if (range === undefined) return say(invocation, command.usage, 1);
      for (const word of others) checkSurplus(word);
      if (others.length > 0)
        invocation.stderr.line(
          ignoredLine(others.join(' '), `${name} takes one noderange; write ${name} ${[range, ...others].join(',')}.`),
        );
      const at = path('nodes', range);
      if (!(await removalConfirmed(invocation, { at }, common))) return 1;
      await invocation.client.call('DELETE', at);
      return 0;
    },
  });
  return command;
};

// As scripts know it, noderm takes more words and looks only at the first.
export const noderm = removal('noderm', 'Removes nodes, with their rows in all tables.');
export const nodepurge = removal('nodepurge', 'Removes nodes, and their entries in DHCP, DNS and the hosts file.', 1);
