import { Type } from 'typebox';
import { Fault } from '../core/errors.ts';
import type { Interruptible } from '../core/slices.ts';
import type { Snapshot } from '../database/snapshot.ts';
import { budgetIn, budgetsIn, budgetTable, checkWatts, nodesOfBudget } from '../nodes/index.ts';
import { change, everyNode, nothing, query, type Question, type Ranges, type Selection } from './command.ts';

const name = Type.String({ minLength: 1 });
const nameForm = /^[A-Za-z0-9][\w.-]{0,63}$/;

function checkName(text: string): void {
  if (!nameForm.test(text))
    throw new Fault('invalid', `"${text}" is no name of a power budget: give letters, digits, dots and dashes.`);
}

const selectRange = (snapshot: Snapshot, range: string, { ranges }: Ranges): Selection => {
  const nodes = nodesOfBudget(snapshot, range, ranges);
  return { objects: nodes, nodes };
};

/** Power budgets, and what the last look at one found. With watts: how it would be spread now. */
export const lspowerbudget = query({
  name: 'lspowerbudget',
  args: Type.Object({
    name: Type.Optional(name),
    watts: Type.Optional(Type.Integer()),
    range: Type.Optional(Type.String({ description: 'instead of the nodes of the budget' })),
  }),
  uses: ['powerBudgets'],
  line: ({ name: budget, watts }) => [
    ...(budget === undefined ? [] : [budget]),
    ...(watts === undefined ? [] : [`watts=${watts}`]),
  ],
  select: (snapshot, { name: budget, range }, ranges) =>
    budget === undefined ? everyNode : selectRange(snapshot, range ?? budgetIn(snapshot, budget).range, ranges),
  async run(snapshot, { name: budget, watts, range }, { powerBudgets, selection, signal }) {
    if (budget === undefined) {
      const listed = await Promise.all(
        budgetsIn(snapshot).map(async (each) => {
          const { nodes: _, ...last } = (await powerBudgets.lastReport(each.name)) ?? {};
          return [each.name, { noderange: each.range, ...last, watts: each.watts }] as const;
        }),
      );
      return { shape: 'value', value: { powerbudgets: Object.fromEntries(listed) } };
    }
    const nodes = selection.nodes ?? [];
    if (watts !== undefined) {
      checkWatts(watts);
      return { shape: 'value', value: await powerBudgets.plan({ watts }, nodes, signal()) };
    }
    if (range !== undefined) throw new Fault('invalid', 'noderange= goes with watts=: how a budget would be spread.');
    const known = budgetIn(snapshot, budget);
    const last = await powerBudgets.lastReport(budget);
    return { shape: 'value', value: { noderange: known.range, ...last, watts: known.watts } };
  },
});

const setArguments = Type.Object({
  name,
  watts: Type.Integer({ description: 'for all of its nodes together' }),
  range: Type.Optional(Type.String({ description: 'absent: the nodes it has, or those of the group with its name' })),
});

const rangeOf = (snapshot: Snapshot, budget: string, range: string | undefined): string =>
  range ?? snapshot.get(budgetTable, budget)?.['noderange'] ?? budget;

/** Who limits the power of nodes needs the right to do so on each of them. */
function* withCaps(
  words: readonly string[],
  caps: readonly string[],
  nodes: readonly string[],
): Interruptible<Question[]> {
  yield;
  return [
    { words, nodes },
    { command: 'renergy', words: caps, nodes },
  ];
}

export const setpowerbudget = change({
  name: 'setpowerbudget',
  args: setArguments,
  line: ({ name: budget, watts }) => [budget, `watts=${watts}`],
  also: () => ['renergy'],
  select: (snapshot, { name: budget, range }, ranges) =>
    selectRange(snapshot, rangeOf(snapshot, budget, range), ranges),
  questions: (snapshot, { name: budget, watts, range }) =>
    withCaps(
      [budget, `watts=${watts}`],
      [`cappingvalue=${watts}`],
      nodesOfBudget(snapshot, rangeOf(snapshot, budget, range), {}),
    ),
  plan(draft, { name: budget, watts, range }, { selection, ranges }) {
    checkName(budget);
    checkWatts(watts);
    const nodes = new Set(selection.nodes);
    for (const other of budgetsIn(draft.base)) {
      if (other.name === budget) continue;
      const shared = nodesOfBudget(draft.base, other.range, ranges).find((node) => nodes.has(node));
      if (shared !== undefined)
        throw new Fault('invalid', `${shared} is in the power budget ${other.name} already; a node has one budget.`);
    }
    const noderange = rangeOf(draft.base, budget, range);
    draft.merge(budgetTable, budget, { name: budget, noderange, watts: String(watts) });
    return nothing;
  },
});

export const rmpowerbudget = change({
  name: 'rmpowerbudget',
  args: Type.Object({ name }),
  line: ({ name: budget }) => [budget],
  also: () => ['renergy'],
  select: (snapshot, { name: budget }, ranges) => selectRange(snapshot, budgetIn(snapshot, budget).range, ranges),
  questions: (snapshot, { name: budget }) =>
    withCaps([budget], ['cappingstatus=off'], nodesOfBudget(snapshot, budgetIn(snapshot, budget).range, {})),
  plan(draft, { name: budget }) {
    draft.remove(budgetTable, budget);
    return nothing;
  },
});
