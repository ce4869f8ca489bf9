import { agreed } from '../ask.ts';
import { type Client, path } from '../client.ts';
import { type Call, type Invocation, musterCommand, say } from '../command.ts';
import { changing, reading } from '../common-options.ts';
import { UsageError } from '../errors.ts';
import { writeData } from '../formats.ts';
import { type RowChange, writeRows } from '../muster/row-diff.ts';
import { flag, valued } from '../options.ts';
import { localTime } from '../times.ts';

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

export const changes = musterCommand({
  usage: `Usage: muster changes [list] [NODERANGE] [--table NAMES] [--user NAME] [--command NAME] [--since TIME] [--until TIME] [--limit N]
       muster changes show ID
       muster changes diff FROM [TO] [NODERANGE] [--table NAMES]

Shows changes of the database with their user and command, the newest first; one change with all its rows; or what differs between
two moments. Moments are times (2026-11-15T09:05:00Z; without a zone, such as 2026-11-15 or 2026-11-15T09:05, they are of
the zone you are in) or numbers of changes. Secrets are shown as ********.`,
  options: {
    table: valued('NAMES', 'only changes of these tables'),
    user: valued('NAME', 'only those of this user'),
    command: valued('NAME', 'only those by this command'),
    since: valued('TIME', 'only those from then on'),
    until: valued('TIME', 'only those up to then'),
    limit: valued('N', 'how many at most; usually 20'),
  },
  notes: 'muster undo ID takes one back.',
  operands: [0, 4, 'Say list, show or diff, and no more than belongs to it.'],
  common: reading,
  run(invocation, options) {
    const [first] = options.operands;
    if (first === 'show') return show(invocation, options);
    if (first === 'diff') return diff(invocation, options);
    return list(invocation, options);
  },
});

/** The server knows no zone but those that are written; what is written without one is of the caller's. */
function moment(text: string | undefined): string | undefined {
  const [, day, time = '00:00'] = /^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d(?::\d\d(?:\.\d+)?)?))?$/.exec(text ?? '') ?? [];
  if (day === undefined) return text;
  const found = new Date(`${day}T${time}`);
  return Number.isNaN(found.getTime()) ? text : found.toISOString();
}

/** `list` has all filters, `diff` knows tables, `show` nothing. */
function refuseFilters(options: Call, what: string, allowed: readonly string[]): void {
  const strange = ['table', 'user', 'command', 'since', 'until', 'limit'].find(
    (name) => options.has(name) && !allowed.includes(name),
  );
  if (strange !== undefined) throw new UsageError(`muster changes ${what} does not take --${strange}.`);
}

async function list(invocation: Invocation, options: Call): Promise<number> {
  const words = options.operands[0] === 'list' ? options.operands.slice(1) : options.operands;
  if (words.length > 1) throw new UsageError('Name one noderange; separate nodes by commas.');
  const { client, stdout, stderr } = invocation;
  const { value } = options;
  const { format } = options.common;
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
  else if (format) await writeData(invocation, format, body.changes);
  else {
    for (const each of body.changes) await stdout.line(headOf(each));
    if (body.next !== undefined) stderr.line(`There are more: --until ${body.next}`);
  }
  return 0;
}

const headOf = ({ id, time, user, client, command: by, rows, tables, reverts }: Change): string => {
  const where = tables && tables.length > 0 ? ` in ${tables.join(',')}` : '';
  const undone = reverts === undefined ? '' : `, takes back ${reverts}`;
  return `${id}  ${localTime(time)}  ${user}@${client}  ${by}  ${rows} row${rows === 1 ? '' : 's'}${where}${undone}`;
};

async function show(invocation: Invocation, options: Call): Promise<number> {
  const { client, stdout } = invocation;
  const [, id, more] = options.operands;
  if (id === undefined || more !== undefined) throw new UsageError('Name one change by its number.');
  refuseFilters(options, 'show', []);
  const { format } = options.common;
  const change = (await client.get(path('changes', id))) as Change;
  if (format === 'json') return say(invocation, JSON.stringify(change, null, 2));
  if (format) return writeData(invocation, format, [change]);
  stdout.line(headOf(change));
  await writeRows(invocation, change.changes);
  return 0;
}

async function diff(invocation: Invocation, options: Call): Promise<number> {
  const { client, stdout } = invocation;
  const [, from, to, noderange] = options.operands;
  if (from === undefined) throw new UsageError('Say from when, and to when if not to now.');
  refuseFilters(options, 'diff', ['table']);
  const { format } = options.common;
  const query = { from: moment(from), to: moment(to), noderange, table: options.value('table') };
  const body = (await client.get('/changes/diff', { query })) as { changes: readonly RowChange[] };
  if (format === 'json') stdout.line(JSON.stringify(body, null, 2));
  else if (format) await writeData(invocation, format, body.changes);
  else await writeRows(invocation, body.changes);
  return 0;
}

export const undo = musterCommand({
  usage: `Usage: muster undo [ID] [--dry-run] [--yes]

Takes back a change: the one with this number, or your own last one that is not taken back yet, which it shows. This is a change too.
muster changes lists changes. If somebody changed one of the rows again later, it takes back nothing. At a terminal it shows what it
would do and asks first.`,
  options: { y: flag('the same as --yes') },
  operands: [0, 1, 'Name one change by its number; muster changes lists them.'],
  common: changing,
  triesItself: true,
  async run(invocation, options) {
    const { client, stdout, terminal } = invocation;
    const [given] = options.operands;
    const own = given === undefined ? await lastOwn(client) : undefined;
    const id = given ?? String(own!.id);
    const at = path('changes', id, 'revert');
    const dry = options.common.dryRun;
    const asks = terminal.stdin && terminal.stdout && !options.common.yes && !options.flag('y');
    if (own) stdout.line(headOf(own));
    if (dry || asks || own) {
      const { body } = await client.call('POST', at, { query: { dryRun: '1' } });
      await writeRows(invocation, (body as { changes: readonly RowChange[] }).changes);
      if (dry) return 0;
      if (asks && !(await agreed(invocation, 'Take it back?', false))) {
        stdout.line('Nothing was changed.');
        return 1;
      }
    }
    const { body } = await client.call('POST', at);
    const { id: made, rows } = body as { id: number; rows: number };
    stdout.line(`Change ${id} is taken back by change ${made}: ${rows} row${rows === 1 ? '' : 's'}.`);
    return 0;
  },
});

/** What muster notes by itself while it does something else: keys and certificates that it sees for the first time. */
const seenKeys: ReadonlySet<string> = new Set(['sshhostkey', 'spcert']);
/** By these somebody writes what is meant, in whatever table. */
const byHand: ReadonlySet<string> = new Set(
  'chdef delEntries mkdef revert rmdef setAttribs setNodesAttribs tabrestore'.split(' '),
);

/** It is not what somebody means by their last change. Tokens cannot be taken back at all. */
function isNoted({ tables = [], command }: Change): boolean {
  if (tables.length === 0) return false;
  return (
    tables.every((table) => table === 'token') || (tables.every((table) => seenKeys.has(table)) && !byHand.has(command))
  );
}

/** The newest change of the caller that is no undo itself and was not taken back by one that still counts. */
async function lastOwn(client: Client): Promise<Change> {
  const undone = new Set<number>();
  for (let until: string | undefined; ; ) {
    const query = { mine: '1', until };
    const body = (await client.get('/changes', { query, aside: true })) as {
      changes: readonly Change[];
      next?: number;
    };
    for (const change of body.changes) {
      if (undone.has(change.id) || isNoted(change)) continue;
      if (change.reverts === undefined) return change;
      undone.add(change.reverts);
    }
    if (body.next === undefined)
      throw new UsageError('There is no change of yours to take back; muster changes lists all.');
    until = String(body.next);
  }
}
