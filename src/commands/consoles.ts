import { type Static, Type } from 'typebox';
import { isMarked, mayUseConsole, mostLogLines } from '../consoles/index.ts';
import { Fault } from '../core/errors.ts';
import { sinceTime } from '../core/since.ts';
import { eachInSlices, type Interruptible, requestSlices } from '../core/slices.ts';
import { columnsToWrite, writeColumns } from '../objects/node-columns.ts';
import {
  type Answer,
  change,
  nodeArguments,
  noSelection,
  nothing,
  query,
  type Question,
  type RangeArgs,
  type Selection,
  selectNodes,
  type Ranges,
} from './command.ts';
import type { Snapshot } from '../database/snapshot.ts';

const ways = ['show', 'view', 'write'] as const;

/** A node's serial console: shows who has it, or lets somebody look on or type. */
export const rcons = query({
  name: 'rcons',
  args: Type.Object({
    ...nodeArguments,
    way: Type.Enum([...ways], { description: 'view looks on; write may type too' }),
    takeOver: Type.Optional(Type.Boolean({ description: 'from a program outside of muster that has it' })),
  }),
  uses: ['consoles'],
  // Whoever may only look on has a rule whose parameters are this word.
  line: ({ way, takeOver }) => (way === 'write' ? (takeOver ? ['-f'] : []) : ['view']),
  select: selectNodes,
  async run(
    snapshot,
    { way, takeOver = false },
    { consoles, caller, run, selection: { nodes = [] } },
  ): Promise<Answer> {
    if (way === 'show') {
      await consoles.checkHere();
      const shown = new Map<string, object>();
      for (const node of nodes) {
        const open = consoles.of(node);
        const message = open ? open.message : await consoles.obstacle(snapshot, node);
        const mayWrite = await requestSlices.run(() => mayUseConsole(snapshot, { ...caller, line: '' }, node));
        shown.set(node, { ...(open ?? closedConsole(snapshot, node)), message, mayWrite });
      }
      return { shape: 'value', value: Object.fromEntries(shown) };
    }
    const [node, ...more] = nodes;
    if (node === undefined || more.length > 0)
      throw new Fault('invalid', `A console is of one node, and the range has ${nodes.length}. Name one.`);
    const { user, scope, client, addresses, token, login } = caller;
    const line = way === 'write' ? (takeOver ? '-f' : '') : 'view';
    const identity = { user, scope, client, addresses, token, login, request: run, line, mayWrite: way === 'write' };
    return { shape: 'console', enter: await consoles.open({ node, identity, takeOver }) };
  },
});

const closedConsole = (snapshot: Snapshot, node: string) => ({
  node,
  state: 'closed',
  since: '',
  way: '',
  message: '',
  kept: isMarked(snapshot, node),
  writer: '',
  viewers: [],
});

const rangeOrAll = Type.Optional(Type.String({ description: 'without it all that the caller may see' }));
/** Characters of lines that are sent at most. */
const mostSent = 32 << 20;

/** Without a range it is about the nodes that the caller may run it on. */
const selectWhere = (snapshot: Snapshot, { range }: Partial<RangeArgs>, services: Ranges): Selection =>
  range === undefined ? noSelection : selectNodes(snapshot, { range, refuseEmpty: true }, services);

const askedOfEach = (range: string | undefined): Interruptible<readonly Question[]> | undefined =>
  range === undefined ? noQuestions() : undefined;

// oxlint-disable-next-line require-yield -- there is nothing to do in slices
function* noQuestions(): Interruptible<readonly Question[]> {
  return [];
}

/** What consoles have printed. */
export const replaycons = query({
  name: 'replaycons',
  args: Type.Object({
    range: rangeOrAll,
    since: Type.Optional(Type.String()),
    lines: Type.Optional(Type.Integer({ minimum: 1, maximum: mostLogLines })),
    search: Type.Optional(Type.String({ minLength: 1, maxLength: 256 })),
  }),
  uses: ['consoles', 'store'],
  line: ({ since, search }) => [
    ...(since === undefined ? [] : ['--since', since]),
    ...(search === undefined ? [] : ['--search', search]),
  ],
  select: selectWhere,
  questions: (_snapshot, { range }) => askedOfEach(range),
  async run(snapshot, { range, since, lines = 1_000, search }, { consoles, permits, selection, signal }) {
    await consoles.checkHere();
    const after = since === undefined ? (range === undefined ? Date.now() - day : 0) : sinceTime(since);
    const names = selection.nodes ?? (await loggedNodes());
    const found = new Map<string, readonly string[]>();
    const left = signal();
    let sent = 0;
    for (const node of names) {
      left.throwIfAborted();
      const own = await consoles.logs.texts(node, { since: after, most: lines, search }, left);
      if (own.length === 0 && (search !== undefined || range === undefined)) continue;
      found.set(node, own);
      sent += own.reduce((sum, { length }) => sum + length, 0);
      if (sent > mostSent)
        throw new Fault('invalid', 'That is more than 32 MiB of lines. Ask for fewer nodes or lines, or a later time.');
    }
    return { shape: 'objects', names: [...found.keys()], attributes: (node) => found.get(node)! };

    async function loggedNodes(): Promise<string[]> {
      const logged = await consoles.logs.nodes();
      return [...logged].filter((node) => snapshot.get('nodelist', node) && permits({ nodes: [node] })).sort();
    }
  },
});

const day = 86_400_000;

/** The consoles that are open. */
export const lsconsoles = query({
  name: 'lsconsoles',
  args: Type.Object({ range: rangeOrAll }),
  uses: ['consoles'],
  line: () => [],
  select: selectWhere,
  questions: (_snapshot, { range }) => askedOfEach(range),
  async run(_snapshot, _args, { consoles, permits, selection: { nodes } }) {
    await consoles.checkHere();
    const open = nodes
      ? nodes.flatMap((node) => consoles.of(node) ?? [])
      : [...consoles.all()].filter(({ node }) => permits({ nodes: [node] }));
    return { shape: 'value', value: open.sort((a, b) => (a.node < b.node ? -1 : 1)) };
  },
});

const orders = ['on', 'off'] as const;
export type ConsoleOrder = Static<typeof orderSchema>;
const orderSchema = Type.Enum([...orders]);

/** Marks nodes whose consoles muster keeps open and logs. */
export const makeconservercf = change({
  name: 'makeconservercf',
  args: Type.Object({ ...nodeArguments, action: orderSchema }),
  line: ({ action }) => (action === 'off' ? ['-d'] : []),
  select: selectNodes,
  *plan(draft, { action }, { selection: { nodes = [] } }): Interruptible<Answer> {
    const set = { 'nodehm.consoleenabled': action === 'on' ? '1' : '' };
    const byTable = columnsToWrite({ set });
    yield* eachInSlices(nodes, (node) => writeColumns(draft, byTable, { set }, node));
    return nothing;
  },
});
