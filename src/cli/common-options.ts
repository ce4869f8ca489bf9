import { UsageError } from './errors.ts';
import { helpLines, type OptionTable, type ParsedOptions } from './options.ts';

export const formats = ['json', 'ndjson', 'csv', 'table', 'yaml'] as const;
export type Format = (typeof formats)[number];

/** Options that muster adds to all commands to which they can mean something. */
export interface CommonOptions {
  readonly format: Format | undefined;
  readonly fold: boolean;
  readonly diff: boolean;
  readonly dryRun: boolean;
  readonly curl: boolean;
  readonly yes: boolean;
  readonly detach: boolean;
  readonly wait: boolean;
}

export type Common = keyof CommonOptions;

interface CommonRow {
  /** How it is written; the first is shown. */
  readonly names: string;
  readonly help: string;
  /** Why some commands refuse it. */
  readonly meaningless: string;
}

const rows: Readonly<Record<Common, CommonRow>> = {
  format: {
    names: 'format',
    help: 'print results as data',
    meaningless: 'it has no results to show as data.',
  },
  fold: {
    names: 'fold',
    help: 'print equal results once, under the folded names of their nodes',
    meaningless: 'it has no results of nodes to fold.',
  },
  diff: {
    names: 'diff',
    help: 'with --fold: of all but the most common result, show only how it differs from that',
    meaningless: 'it has no results of nodes to compare.',
  },
  dryRun: {
    names: 'dry-run|dryrun',
    help: 'show what would be done, and do nothing',
    meaningless:
      'it has no dry run; only changes of the database and commands that are sent to nodes have one. Nothing was done.',
  },
  curl: {
    names: 'curl',
    help: 'print the requests as curl commands; send none that would change something',
    meaningless: 'it is no request to a server.',
  },
  yes: { names: 'yes', help: 'do not ask for confirmation', meaningless: 'it asks nothing.' },
  detach: {
    names: 'detach',
    help: 'print the ID of the run and return; "muster runs attach ID" shows its results',
    meaningless: 'it starts no run that could go on alone.',
  },
  wait: {
    names: 'wait',
    help: 'wait for the end (the default, except for rinstall)',
    meaningless: 'it always ends before the prompt comes back.',
  },
};

/** The common options by what a command does. */
export const reading: readonly Common[] = ['format', 'curl'];
export const readingNodes: readonly Common[] = ['format', 'fold', 'curl'];
export const changing: readonly Common[] = ['dryRun', 'curl', 'yes'];
/** What is done outside the database can only be done, not tried. */
export const acting: readonly Common[] = ['curl', 'yes'];
export const longWorking: readonly Common[] = [...acting, 'detach', 'wait'];
export const onNodes: readonly Common[] = ['format', 'fold', 'diff', 'dryRun', 'curl', 'yes', 'detach', 'wait'];

const nameOf = (option: Common): string => rows[option].names.split('|')[0]!;

/** They are long and must be written out, so that no word of a script is taken for one. */
export const commonTable: OptionTable = Object.fromEntries(
  Object.values(rows).map(({ names }) => [names, { kind: names === 'format' ? 'value' : 'flag', exact: true }]),
);

/** The common option that a command for nodes ends with, which goes to the nodes with it: `xdsh n1 date --dry-run`. */
export function commonAtEnd(words: readonly string[]): string | undefined {
  const names = Object.keys(commonTable).flatMap((each) => each.split('|'));
  if (words.at(-2) === '--format') return words.slice(-2).join(' ');
  const last = words.at(-1) ?? '';
  return names.some((name) => last === `--${name}` || last.startsWith(`--${name}=`)) ? last : undefined;
}

/** The common options of a call. Those that mean nothing to the command are refused: whoever writes one expects something of it. */
export function commonOf(
  command: string,
  options: ParsedOptions,
  { common: understood = [], options: own = {} }: { common?: readonly Common[] | undefined; options?: object },
): CommonOptions {
  // A command may have an option of its own of the same name.
  const has = (option: Common): boolean => options.has(nameOf(option)) && !(nameOf(option) in own);
  for (const [option, { meaningless }] of Object.entries(rows) as [Common, CommonRow][])
    if (has(option) && !understood.includes(option))
      throw new UsageError(`${command} does not take --${nameOf(option)}: ${meaningless}`);
  if (has('diff') && (!has('fold') || has('format')))
    throw new UsageError('--diff compares folded results: use it with --fold, and without --format.');
  if (has('detach') && has('wait')) throw new UsageError('--detach and --wait cannot be used together.');
  return {
    format: has('format') ? formatOf(options.value('format')) : undefined,
    fold: has('fold'),
    diff: has('diff'),
    dryRun: has('dryRun'),
    curl: has('curl'),
    yes: has('yes'),
    detach: has('detach'),
    wait: has('wait'),
  };
}

function formatOf(text: string | undefined): Format {
  if (!formats.includes(text as Format))
    throw new UsageError(`The format "${text ?? ''}" is not known; there are ${formats.join(', ')}.`);
  return text as Format;
}

/** The lines about those that a command understands. */
export function commonHelp(understood: readonly Common[]): string {
  if (understood.length === 0) return '';
  const lines = understood.map((name): [string, string] => [
    name === 'format' ? `--format ${formats.join('|')}` : `--${nameOf(name)}`,
    rows[name].help,
  ]);
  return `Common options:\n${helpLines(lines)}`;
}

/** As they are written, for completion. */
export const commonWords = (understood: readonly Common[]): string[] => understood.map((name) => `--${nameOf(name)}`);
