import { path } from '../client.ts';
import { UsageError } from '../client-errors.ts';
import type { CliCommand, Invocation } from '../invocation.ts';
import type { ParsedOptions } from '../options.ts';
import { oneOf, operandsOf, ownCommand } from '../own/own-command.ts';
import { type RowChange, writeRows } from '../own/row-diff.ts';

const usage = `Usage: muster changes [list] [NODERANGE] [--table NAMES] [--user NAME] [--command NAME] [--since TIME] [--until TIME] [--limit N]
       muster changes show ID
       muster changes diff FROM [TO] [NODERANGE] [--table NAMES]

What was changed in the database, by whom and by which command, the newest first; one change with all its rows; or what differs
between two moments. Moments are times (2026-11-15T09:05:00Z; without a zone, such as 2026-11-15 or 2026-11-15T09:05, they are of
the zone you are in) or numbers of changes. Secrets are shown as ********.

  --format json|ndjson   as data
muster undo ID takes one back.`;

interface Change {
  readonly id: number;
  readonly time: string;
  readonly user: string;
  readonly client: string;
  readonly command: string;
  readonly reverts?: number;
  readonly rows: number;
  readonly tables?: readonly string[];
  readonly changes: readonly RowChange[];
}

const table = {
  table: 'value',
  user: 'value',
  command: 'value',
  since: 'value',
  until: 'value',
  limit: 'value',
  format: 'value',
} as const;

export const command: CliCommand = ownCommand(usage, table, (invocation, options) => {
  const [first] = options.operands;
  if (first === 'show') return show(invocation, options);
  if (first === 'diff') return diff(invocation, options);
  return list(invocation, options);
});

/** The server knows no zone but those that are written; what is written without one is of the caller's. */
function moment(text: string | undefined): string | undefined {
  const [, day, time = '00:00'] = /^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d(?::\d\d(?:\.\d+)?)?))?$/.exec(text ?? '') ?? [];
  if (day === undefined) return text;
  const found = new Date(`${day}T${time}`);
  return Number.isNaN(found.getTime()) ? text : found.toISOString();
}

const formatIn = (options: ParsedOptions) => oneOf('--format', options.value('format'), ['json', 'ndjson'] as const);

async function list({ client, stdout, stderr }: Invocation, options: ParsedOptions): Promise<number> {
  const words = options.operands[0] === 'list' ? options.operands.slice(1) : options.operands;
  if (words.length > 1) throw new UsageError('Name one noderange; separate nodes by commas.');
  const { value } = options;
  const format = formatIn(options);
  const query = {
    noderange: words[0],
    table: value('table'),
    user: value('user'),
    command: value('command'),
    since: moment(value('since')),
    until: moment(value('until')),
    limit: value('limit') ?? '20',
  };
  const body = (await client.get('/changes', { query })) as { changes: readonly Change[]; next?: number };
  if (format === 'json') stdout.line(JSON.stringify(body, null, 2));
  else if (format === 'ndjson') for (const each of body.changes) await stdout.line(JSON.stringify(each));
  else {
    for (const each of body.changes) await stdout.line(headOf(each));
    if (body.next !== undefined) stderr.line(`There are more: --until ${body.next}`);
  }
  return 0;
}

const headOf = ({ id, time, user, client, command: by, rows, tables, reverts }: Change): string => {
  const where = tables && tables.length > 0 ? ` in ${tables.join(',')}` : '';
  const undone = reverts === undefined ? '' : `, takes back ${reverts}`;
  return `${id}  ${time}  ${user}@${client}  ${by}  ${rows} row${rows === 1 ? '' : 's'}${where}${undone}`;
};

async function show(invocation: Invocation, options: ParsedOptions): Promise<number> {
  const { client, stdout } = invocation;
  const [, id = ''] = operandsOf(options, 2, 2, 'Name one change by its number.');
  const change = (await client.get(path('changes', id))) as Change;
  if (formatIn(options)) {
    stdout.line(JSON.stringify(change, null, formatIn(options) === 'json' ? 2 : 0));
    return 0;
  }
  stdout.line(headOf(change));
  await writeRows(invocation, change.changes);
  return 0;
}

async function diff(invocation: Invocation, options: ParsedOptions): Promise<number> {
  const { client, stdout } = invocation;
  const [, from, to, noderange] = operandsOf(options, 2, 4, 'Say from when, and to when if not to now.');
  const query = { from: moment(from), to: moment(to), noderange, table: options.value('table') };
  const body = (await client.get('/changes/diff', { query })) as { changes: readonly RowChange[] };
  if (formatIn(options)) stdout.line(JSON.stringify(body, null, formatIn(options) === 'json' ? 2 : 0));
  else await writeRows(invocation, body.changes);
  return 0;
}
