import { Type } from 'typebox';
import { lsconsoles, makeconservercf, rcons, replaycons } from '../../commands/index.ts';
import { mostLogLines } from '../../consoles/index.ts';
import { Fault } from '../../core/errors.ts';
import { endpoint, type Endpoint, type Input, members, requiredText } from './endpoint.ts';

const text = Type.String();
const shown = {
  node: text,
  state: Type.String({ description: 'closed, connecting, connected, or waiting to try again' }),
  since: text,
  way: Type.String({ description: 'how the machine is reached, such as SOL 10.0.0.5' }),
  message: Type.String({ description: 'why it is not connected, or cannot be' }),
  kept: Type.Boolean({ description: 'muster keeps it open and logs it' }),
  writer: Type.String({ description: 'who types' }),
  viewers: Type.Array(
    Type.Object({ viewer: Type.Integer(), user: text, client: text, since: text, writes: Type.Boolean() }),
  ),
};
export const openConsole = Type.Object(shown);
export const consoleOfNode = Type.Object({
  ...shown,
  mayWrite: Type.Boolean({ description: 'the policy lets you type' }),
});
const viewer = { viewer: 1, user: 'root', client: '10.1.0.9', since: '2026-11-15T09:05:00.000Z', writes: true };
const example = {
  node: 'n1',
  state: 'connected',
  since: '2026-11-15T09:00:00.000Z',
  way: 'SOL 10.0.0.5',
  message: '',
  kept: true,
  writer: 'root',
  viewers: [viewer],
};

const isOne = (name: string, value: string | undefined): boolean => {
  if (value === undefined || value === '0' || value === '1') return value === '1';
  throw new Fault('malformed', `${name}: give 1 or 0, not "${value}".`);
};

function countOf(value: string | undefined): number | undefined {
  if (value === undefined) return undefined;
  if (/^[1-9]\d{0,5}$/.test(value) && Number(value) <= mostLogLines) return Number(value);
  throw new Fault('malformed', `lines: give a number from 1 to ${mostLogLines}, not "${value}".`);
}

const logQuery = {
  since: 'only what was printed since this time, such as 2026-11-15T09:05:00Z, or how long ago: 30s, 90m, 2h, 1d',
  lines: 'the last so many lines of each node; 1000 if it is not given',
  search: 'only lines with this text, in capitals or not, and only nodes that have one',
};
const logArguments = ({ query }: Input) => ({
  since: query['since'],
  lines: countOf(query['lines']),
  search: query['search'],
});
const logExample = { n1: ['2026-11-15T09:05:00.000Z [    0.000000] Linux version 6.1.0'] };

const description = `A WebSocket (RFC 6455): binary messages are bytes of the console in both directions, text messages are JSON objects, at most 64 KiB each. Without an upgrade the reply is the state of the console.
The server sends {"type":"state"} first and after each change: node, state, way, message, viewer (your number), writes (you type), mayWrite, viewers. {"type":"notice","message"}: something that you should read. {"type":"cut","bytes"}: you were too slow, and so much output is missing. {"type":"end","message"}: the last.
You may send {"type":"break"}, {"type":"ask"} (for the keyboard), {"type":"take"} (it), {"type":"release"}, {"type":"give","to":VIEWER}, {"type":"reconnect"}, and {"type":"takeover"}: muster takes the console from a program that has it at the BMC. One viewer types; the policy asks for rcons, or with view=1 for rcons with the parameters "view".
A browser must come from the origin of this server. Whose token, account or right ends is disconnected.`;

export const consoles: Endpoint[] = [
  endpoint('GET /nodes/{noderange}/console', {
    command: rcons,
    reply: 'object',
    returns: Type.Record(Type.String(), consoleOfNode),
    upgrades: true,
    query: {
      view: '1: look on only',
      takeover: '1: take the console from a program outside of muster that has it',
    },
    args: ({ params, query, isUpgrade }) => {
      const isView = isOne('view', query['view']);
      const takeOver = isOne('takeover', query['takeover']);
      if (isView && takeOver)
        throw new Fault('malformed', 'Who only looks on takes nothing over: leave view or takeover out.');
      return {
        range: params['noderange']!,
        refuseEmpty: true,
        way: isUpgrade ? (isView ? 'view' : 'write') : 'show',
        takeOver,
      } as const;
    },
    summary: 'The serial console of a node, as a WebSocket; without an upgrade, who has it.',
    description,
    example: { reply: { n1: { ...example, mayWrite: true } } },
    only: '/muster',
  }),
  endpoint('GET /nodes/{noderange}/consolelog', {
    command: replaycons,
    reply: 'lines',
    query: logQuery,
    args: (input) => ({ range: input.params['noderange']!, ...logArguments(input) }),
    summary: 'What the serial consoles of nodes printed, with times.',
    description:
      'Sequences that only a terminal understands are left out, and other control characters are written as \\xHH. Lines that begin with -- are notes of muster.',
    example: { reply: logExample },
    only: '/muster',
  }),
  endpoint('GET /consolelog', {
    command: replaycons,
    reply: 'lines',
    query: logQuery,
    args: logArguments,
    summary: 'The same of all nodes whose logs the caller may read; of the last day unless since is given.',
    example: { path: '/consolelog', query: { search: 'Kernel panic' }, reply: logExample },
    only: '/muster',
  }),
  endpoint('GET /consoles', {
    command: lsconsoles,
    reply: 'object',
    returns: Type.Array(openConsole),
    query: { noderange: 'only these nodes' },
    args: ({ query }) => ({ range: query['noderange'] }),
    range: 'noderange',
    summary: 'The serial consoles that are open: how they are reached, who looks on, who types, and what is wrong.',
    example: { path: '/consoles', reply: [example] },
    only: '/muster',
  }),
  endpoint('PUT /services/console', {
    command: makeconservercf,
    body: members({
      action: requiredText('missing-action', 'on or off'),
      nodes: Type.Union([Type.Array(Type.String()), Type.String()], {
        description: 'names of nodes or groups; as text, a noderange',
        'x-lack': 'missing-member',
      }),
      trust_host: Type.Optional(Type.Unknown({ description: 'refused: the policy decides who may use consoles' })),
    }),
    args: ({ body }) => {
      const {
        action,
        nodes,
        trust_host: trusted,
      } = body as { action: string; nodes: string | string[]; trust_host?: unknown };
      if (trusted !== undefined)
        throw new Fault('invalid', 'trust_host is not supported: the policy decides who may use consoles (rcons).');
      if (action !== 'on' && action !== 'off') throw new Fault('invalid', `action must be on or off, not "${action}".`);
      const range = typeof nodes === 'string' ? nodes : nodes.join(',');
      if (range === '') throw new Fault('missing-member', 'Missed node.');
      return { range, refuseEmpty: true, action } as const;
    },
    summary: 'Keep the serial consoles of nodes open and log them, or stop that.',
    description: 'Sets or clears the attribute consoleenabled of the nodes.',
    example: { path: '/services/console', body: { nodes: ['n1'], action: 'on' } },
  }),
];
