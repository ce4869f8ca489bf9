import type { WebSocket } from 'ws';
import { type CallOptions, type Client, path } from '../client.ts';
import { type Invocation, musterCommand, xcatCommand } from '../command.ts';
import { reading } from '../common-options.ts';
import { Refused, UsageError } from '../errors.ts';
import { writeData } from '../formats.ts';
import { errorLine, refusalLines } from '../lines.ts';
import { namesIn } from '../nodes/work.ts';
import { filled, flag, refused, verbose } from '../options.ts';
import { oneLine } from '../output.ts';
import { localTime } from '../times.ts';

interface OpenConsole {
  readonly node: string;
  readonly state: string;
  readonly since: string;
  readonly way: string;
  readonly message: string;
  readonly kept: boolean;
  readonly writer: string;
  readonly viewers: readonly { readonly user: string; readonly writes: boolean }[];
}

interface Entering {
  readonly view?: boolean;
  readonly takeOver?: boolean;
}

const consoleOf = ({ client }: Invocation, node: string, { view, takeOver }: Entering): Promise<WebSocket> => {
  const query: CallOptions['query'] = { ...(view && { view: '1' }), ...(takeOver && { takeover: '1' }) };
  return client.webSocket(path('nodes', node, 'console'), { query });
};

async function enter(invocation: Invocation, node: string, how: Entering): Promise<number> {
  const socket = await consoleOf(invocation, node, how);
  const { useConsole } = await import('../consoles/session.ts');
  return useConsole(invocation, socket);
}

const logOptions = {
  since: filled('TIME', 'only since then: 30s, 90m, 2h, 1d ago, or a time such as 2026-11-15T09:05:00Z'),
  'lines|n': filled('N', 'the last N lines of each node; 1000 if it is not given'),
};

/** Prints lines of logs: behind the name of the node, if there may be several. */
async function printLogs(
  invocation: Invocation,
  range: string | undefined,
  query: NonNullable<CallOptions['query']>,
  named: boolean,
) {
  const { client, stdout } = invocation;
  const at = range === undefined ? '/consolelog' : path('nodes', range, 'consolelog');
  const logs = (await client.get(at, { query })) as Readonly<Record<string, readonly string[]>>;
  const isNamed = named || Object.keys(logs).length > 1;
  for (const [node, lines] of Object.entries(logs))
    for (const line of lines) await stdout.line(isNamed ? `${node}: ${shownLine(line)}` : shownLine(line));
  return Object.keys(logs).length;
}

function shownLine(line: string): string {
  const blank = line.indexOf(' ');
  return oneLine(`${localTime(line.slice(0, blank))}${line.slice(blank)}`.replaceAll('\t', '    '));
}

export const consoleOfNode = musterCommand({
  usage: `Usage: muster console NODE [--view] [--force]
       muster console --log NODERANGE [--since TIME] [--lines N]
       muster console --search TEXT [NODERANGE] [--since TIME] [--lines N]

Opens the serial console of a node. Several people can look on, and one types: Ctrl-E c ? shows how the keyboard changes
hands, and Ctrl-E c . ends. --log prints what consoles have printed, and --search only lines with a text, of the last day
if neither nodes nor a time are named.`,
  options: {
    'view|s': flag('look on only'),
    'force|f': flag('take the console from a program outside of muster that has it'),
    log: flag('print what the consoles have printed'),
    search: filled('TEXT', 'print lines with this text, in capitals or not'),
    ...logOptions,
  },
  operands: [0, 1, 'Name one node.'],
  async run(invocation, call) {
    const [range] = call.operands;
    const [search, since, lines] = [call.value('search'), call.value('since'), call.value('lines')];
    const isLog = call.flag('log') || search !== undefined;
    const [view, takeOver] = [call.flag('view'), call.flag('force')];
    if (isLog && (view || takeOver))
      throw new UsageError('--view and --force are for an open console: leave them out.');
    if (!isLog && (since ?? lines) !== undefined) throw new UsageError('--since and --lines need --log or --search.');
    if (view && takeOver) throw new UsageError('Who only looks on takes nothing over: leave out --view or --force.');
    if (range === undefined && (search === undefined || call.flag('log'))) throw new UsageError('Name a node.');
    if (!isLog) return enter(invocation, range!, { view, takeOver });
    const nodes = await printLogs(invocation, range, { since, lines, search }, search !== undefined);
    if (nodes === 0 && search !== undefined) invocation.stderr.line('muster console: No line has this text.');
    return nodes === 0 && search !== undefined ? 1 : 0;
  },
});

export const rcons = xcatCommand({
  usage: `Usage: rcons NODE [-f] [-s]

Opens the serial console of a node. Ctrl-E c . ends, and Ctrl-E c ? shows help.`,
  options: {
    f: flag('take the console from a program outside of muster that has it'),
    s: flag('look on only'),
    ...verbose,
  },
  operands: 2,
  bare: 0,
  async run(invocation, call) {
    const [node = '', host] = call.operands;
    const { client, stdout } = invocation;
    if (host !== undefined)
      throw new UsageError(`There is no host to choose, so "${host}" means nothing: MUSTER_URL names the server.`);
    if (call.flag('f') && call.flag('s')) throw new UsageError('Who only looks on (-s) takes nothing over (-f).');
    try {
      const names = await namesIn(client, node);
      if (names.length !== 1)
        throw new UsageError(`A console is of one node, and ${node} has ${names.length}. Name one.`);
      return await enter(invocation, names[0]!, { view: call.flag('s'), takeOver: call.flag('f') });
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      for (const line of refusalLines(error, client.server)) stdout.line(line);
      return 1;
    }
  },
});

export const replaycons = xcatCommand({
  usage: `Usage: replaycons NODE

Prints what the serial console of a node has printed, with times.`,
  options: { ...verbose, ...logOptions },
  operands: 3,
  bare: 1,
  async run(invocation, call) {
    const [node = '', speed] = call.operands;
    if (speed !== undefined)
      throw new UsageError(
        `A replay has no speed here, so "${speed}" means nothing: --lines N chooses how much is printed.`,
      );
    await printLogs(invocation, node, { since: call.value('since'), lines: call.value('lines') }, false);
    return 0;
  },
});

const listed = ({ node, state, since, way, message, kept, writer, viewers }: OpenConsole): string =>
  [
    `${node}: ${state}${since === '' ? '' : ` since ${localTime(since)}`}`,
    ...(way === '' ? [] : [`by ${way}`]),
    kept ? 'kept and logged' : 'on demand',
    ...(writer === '' ? [] : [`${writer} types`]),
    ...viewers.flatMap(({ user, writes }) => (writes ? [] : [`${user} looks on`])),
    ...(message === '' ? [] : [message]),
  ]
    .map(oneLine)
    .join(', ');

export const consoles = musterCommand({
  usage: `Usage: muster consoles [--list] [NODERANGE]

Shows the serial consoles of nodes beside each other, as far as the terminal has room for them. Without a noderange, with
--list, and where there is no terminal, it lists consoles: how they are reached, who types, and what is wrong.`,
  options: { 'list|l': flag('list the consoles instead of showing them') },
  operands: [0, 1, 'Name one noderange; separate nodes by commas.'],
  common: reading,
  async run(invocation, call) {
    const [range] = call.operands;
    const { terminal, client } = invocation;
    if (range === undefined || call.flag('list') || call.common.format || !terminal.stdout || !terminal.stdin)
      return list(invocation, range, call.common.format);
    return showConsoles(invocation, await namesIn(client, range));
  },
});

async function list(
  invocation: Invocation,
  range: string | undefined,
  format: Parameters<typeof writeData>[1] | undefined,
) {
  const { client, stdout } = invocation;
  const open =
    range === undefined
      ? ((await client.get('/consoles')) as readonly OpenConsole[])
      : Object.values((await client.get(path('nodes', range, 'console'))) as Readonly<Record<string, OpenConsole>>);
  if (format)
    await writeData(
      invocation,
      format,
      open.map((each) => ({ ...each, viewers: JSON.stringify(each.viewers) })),
    );
  else for (const each of open) await stdout.line(listed(each));
  return 0;
}

async function showConsoles(invocation: Invocation, names: readonly string[]): Promise<number> {
  const { roomFor, showTiles } = await import('../consoles/tiles.ts');
  const room = roomFor(invocation.terminal.columns, process.stdout.rows || 24);
  if (names.length > room)
    throw new UsageError(
      `The terminal has room for ${room} consoles, and these are ${names.length}. Name fewer, or make it larger.`,
    );
  const tiles = await Promise.all(
    names.map(async (node) => ({ node, socket: await consoleOf(invocation, node, { view: true }) })),
  );
  return tiles.length === 0 ? 0 : showTiles(invocation, tiles);
}

export const wcons = xcatCommand({
  usage: `Usage: wcons NODERANGE

Shows the serial consoles of nodes beside each other in this terminal; q ends.`,
  options: { ...verbose, 't|tile': refused('muster consoles arranges them by itself.', 'value') },
  operands: 1,
  bare: 0,
  async run(invocation, { operands: [range = ''] }) {
    const names = await namesIn(invocation.client, range);
    if (invocation.terminal.stdout && invocation.terminal.stdin) return showConsoles(invocation, names);
    invocation.stderr.line(errorLine('This needs a terminal; muster consoles lists consoles without one.'));
    return 1;
  },
});

const makeOptions = {
  ...verbose,
  'd|delete': flag('stop that'),
  'C|cleanup': refused('muster keeps no console configuration of nodes that are gone.'),
};

/** The range itself for an account that may not see definitions: what is done has a right of its own. */
async function namesIfShown(client: Client, range: string): Promise<readonly string[]> {
  try {
    return await namesIn(client, range);
  } catch (error) {
    if (error instanceof Refused && error.isDenied) return [range];
    throw error;
  }
}

/** What xCAT has two commands for. */
const makeConsoles = (name: string, more: Readonly<Record<string, ReturnType<typeof flag>>>) =>
  xcatCommand({
    usage: `Usage: ${name} [-d] NODERANGE
       ${name} -q [NODERANGE]

Keeps the serial consoles of nodes open and logs them, by setting their attribute consoleenabled.`,
    options: { ...makeOptions, 'q|query': flag('list consoles and their states'), ...more },
    operands: 1,
    async run(invocation, call) {
      const { client, stdout } = invocation;
      const [range] = call.operands;
      if (call.flag('q') && call.flag('d')) throw new UsageError('-q changes nothing: leave out -d or -q.');
      if (call.flag('q')) return listStates(invocation, range);
      if (range === undefined) throw new UsageError(`Name the nodes: ${name} all means every node of the group all.`);
      const nodes = await namesIfShown(client, range);
      if (nodes.length === 0) return 0;
      const action = call.flag('d') ? 'off' : 'on';
      await client.call('PUT', '/services/console', { body: { nodes: range, action } });
      for (const node of nodes) await stdout.line(`${node}: ${action === 'on' ? 'Created' : 'Deleted'}`);
      return 0;
    },
  });

const column = 33;

async function listStates({ client, stdout }: Invocation, range: string | undefined): Promise<number> {
  const open =
    range === undefined
      ? ((await client.get('/consoles')) as readonly OpenConsole[])
      : Object.values((await client.get(path('nodes', range, 'console'))) as Readonly<Record<string, OpenConsole>>);
  const server = (await client.serverName()) ?? '';
  await stdout.line(`${'NODE'.padEnd(column)}${'SERVER'.padEnd(column)}STATE`);
  for (const { node, state } of open)
    await stdout.line(
      `${node.padEnd(column)}${server.padEnd(column)}${state === 'connected' ? state : 'disconnected'}`,
    );
  return 0;
}

export const makegocons = makeConsoles('makegocons', {});
export const makeconservercf = makeConsoles('makeconservercf', {
  'l|local': refused('every server knows all consoles.'),
  'c|conserver': refused('muster keeps the consoles itself.'),
  't|trust': refused('the policy decides who may use consoles (rcons).', 'value'),
});
