import { meaning } from './ranges.ts';
import { askedBy, type Request, type Wrong } from './request.ts';
import { type Asked, mayAtAll, mayDecideTrust, mayEverywhere, mayOn, type Policy } from './rules.ts';
import { type Difference, differences, effective, membersOf, nodesIn, ownerColumn, type World } from './state.ts';
import { isConsequence, trustNames } from './trust.ts';
import { nodeNames, type Row } from './world.ts';

/** Everything that is stored differently and should not be. */
export function changedOutside(policy: Policy, request: Request, before: World, after: World): Wrong[] {
  const changes = differences(before, after).filter(({ table }) => table !== 'token');
  if (changes.length === 0) return [];
  if (request.query['dryRun'] !== undefined)
    return [`a dry run changed ${changes.map(({ table }) => table).join(', ')}`];
  const wrong: Wrong[] = [];
  const asks = (object?: string): Asked[] => {
    const own = request.lines.filter((each) => object !== undefined && each.object === object);
    return askedBy({ ...request, lines: own.length > 0 ? own : request.lines });
  };
  const may = (node: string): boolean => asks(node).some((asked) => mayOn(policy, asked, node));
  for (const node of new Set([...nodesIn(before), ...nodesIn(after)])) {
    const columns = changedColumns(before, after, node);
    if (columns.length === 0) continue;
    if (!may(node)) wrong.push(`${node} has other values: ${columns.join(', ')}`);
    const exists = [before, after].every((world) => nodesIn(world).includes(node));
    for (const column of exists ? columns : []) {
      const [table = '', name = ''] = column.split('.');
      const names = trustNames(table, name);
      const isAllowed = (asked: Asked): boolean =>
        isConsequence(asked.command, table) || mayDecideTrust(policy, asked, names ?? [], node);
      if (names === undefined || asks().some(isAllowed)) continue;
      wrong.push(`${node} has another ${column}, which decides trust`);
    }
  }
  for (const change of changes) wrong.push(...rowsOutside(policy, change, before, after, asks, may));
  wrong.push(...setsOutside(policy, changes, before, after, may), ...takenOutside(before, after, may));
  return wrong;
}

function changedColumns(before: World, after: World, node: string): string[] {
  return Object.keys(after).flatMap((table) => {
    if (ownerColumn(table) === undefined) return [];
    const [was, is] = [before, after].map(
      (world): Row => (nodesIn(world).includes(node) ? effective(world, table, node) : {}),
    );
    const columns = new Set([...Object.keys(was!), ...Object.keys(is!)]);
    return [...columns].filter((column) => was![column] !== is![column]).map((column) => `${table}.${column}`);
  });
}

/** Rows of groups need rights on all members; rows that belong to no node need a rule for all of them. */
function rowsOutside(
  policy: Policy,
  { table, before: was, after: is }: Difference,
  before: World,
  after: World,
  asks: () => Asked[],
  may: (node: string) => boolean,
): Wrong[] {
  // Groups may be changed by those who have rights on all members, which is looked at as a set. One without members is about no node.
  const mayChangeGroup = (group: string): boolean => {
    const members = [before, after].flatMap((world) => membersOf(world, group));
    return members.length > 0 ? members.every(may) : asks().some((asked) => mayAtAll(policy, asked));
  };
  const column = ownerColumn(table);
  if (column === undefined) {
    const decides = columnsOf(was, is).some((name) => trustNames(table, name) !== undefined);
    const allowed = asks().some((asked) => (decides ? mayEverywhere(policy, asked) : mayAtAll(policy, asked)));
    if (allowed || (table === 'nodegroup' && mayChangeGroup((is ?? was)!['groupname']!))) return [];
    return [`table ${table} has another row`];
  }
  const owner = (is ?? was)![column]!;
  if (nodeNames.includes(owner)) return [];
  const members = [before, after].flatMap((world) => membersOf(world, owner));
  const concerned = members.length > 0 ? members : [owner];
  if (!concerned.every(may)) return [`table ${table} has another row of ${owner}`];
  // What a group has is anybody's who joins it, whoever has it now.
  return columnsOf(was, is).flatMap((name) => {
    const names = name === column ? undefined : trustNames(table, name);
    const mayDecide = (node: string): boolean =>
      asks().some((asked) => mayDecideTrust(policy, asked, names ?? [], node));
    return names === undefined || concerned.every(mayDecide)
      ? []
      : `group ${owner} has another ${table}.${name}, which decides trust`;
  });
}

/** The columns in which two rows differ. */
const columnsOf = (was: Row = {}, is: Row = {}): string[] =>
  [...new Set([...Object.keys(was), ...Object.keys(is)])].filter((name) => (was[name] ?? '') !== (is[name] ?? ''));

/** Whom rules and groups with attributes stand for changes only with rights on all of them. */
function setsOutside(
  policy: Policy,
  changes: readonly Difference[],
  before: World,
  after: World,
  may: (node: string) => boolean,
): Wrong[] {
  const left = new Set(nodesIn(after));
  const sets = policy.rules.flatMap(({ range }): [Set<string>, Set<string>, string][] =>
    range ? [[meaning(before, range), meaning(after, range), 'a rule']] : [],
  );
  if (changes.some(({ table }) => table === 'nodelist')) {
    for (const group of ['alpha', 'gamma', 'dark', 'void'])
      sets.push([new Set(membersOf(before, group)), new Set(membersOf(after, group)), `group ${group}`]);
  }
  return sets.flatMap(([was, is, whose]) => {
    const remaining = was.intersection(left);
    if (remaining.symmetricDifference(is).size === 0) return [];
    return [...remaining, ...is].every(may) ? [] : [`${whose} stands for other nodes`];
  });
}

/** What belongs to a node that the account has no rights on belongs to another one, too. */
function takenOutside(before: World, after: World, may: (node: string) => boolean): Wrong[] {
  const owned = (world: World, node: string): string[] =>
    [
      effective(world, 'ipmi', node)['bmc'],
      effective(world, 'hosts', node)['ip'],
      effective(world, 'mac', node)['mac'],
      effective(world, 'vpd', node)['uuid'],
    ].flatMap((value) =>
      value
        ? value
            .toLowerCase()
            .replace(/^::ffff:/, '')
            .replaceAll(/!.*/g, '')
            .replaceAll(':', '')
        : [],
    );
  return nodesIn(after).flatMap((node) => {
    const known = nodesIn(before).includes(node) ? owned(before, node) : [];
    const taken = owned(after, node).filter((value) => !known.includes(value));
    return nodesIn(before).flatMap((other) =>
      other === node || may(other) || !owned(before, other).some((value) => taken.includes(value))
        ? []
        : `${node} has taken what belongs to ${other}`,
    );
  });
}
