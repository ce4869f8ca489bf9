import type { Reply } from '../../harness/client.ts';
import type { Request } from './requests.ts';
import { type Asked, mayAtAll, mayDecideTrust, mayEverywhere, mayOn, type Policy } from './rules.ts';
import { type Difference, differences, effective, membersOf, nodesIn, ownerColumn, type World } from './state.ts';
import { meaning } from './ranges.ts';
import { addressOf, ambiguousName, bmcOf, groupNames, type Letter, marksOf, nodeNames, type Row } from './world.ts';

/** What is wrong with how a request was answered; nothing if it was answered within the rules. */
export type Wrong = string;

const isWord = (text: string, word: string): boolean =>
  text.split(/[^A-Za-z0-9_]+/).includes(word) && new RegExp(`(?<![A-Za-z0-9_])${word}(?![A-Za-z0-9_])`).test(text);

/** All that the caller has written down, which may be repeated to them. */
const ownWords = ({ path, body, query }: Request): string[] =>
  `${decodeURIComponent(path)} ${JSON.stringify(body ?? '')} ${JSON.stringify(query)}`
    .split(/[\s",;{}[\]()=~/!|]+/)
    .filter((word) => word.length > 3);

/** What the policy is asked for a request. */
export const askedBy = ({ row, lines }: Pick<Request, 'row' | 'lines'>): Asked[] =>
  lines.map(({ command = row.command.name, line }) => ({ command, line }));

/** Names and values of nodes that the account may not read, and secrets of anybody. */
export function readOutside(policy: Policy, letter: Letter, request: Request, reply: Reply): Wrong[] {
  const headers = Object.entries(reply.headers).map(([name, value]) => `${name}: ${String(value)}`);
  const whole = [reply.text, ...headers].join('\n');
  const wrong: Wrong[] = [];
  if (/s3[ab]-/.test(whole)) wrong.push('a secret is in the reply');
  const text = ownWords(request).reduce((rest, word) => rest.replaceAll(word, ' '), whole);
  const listing: Asked = { command: 'lsdef', line: '-t node' };
  const asked = askedBy(request);
  const mayRead = (node: string): boolean =>
    mayOn(policy, listing, node) || asked.some((each) => mayOn(policy, each, node));
  const ruleText = policy.rules.map(({ range }) => JSON.stringify(range ?? '')).join(' ');
  for (const node of nodeNames) {
    if (mayRead(node)) continue;
    const marks = marksOf(letter, node).filter((mark) => text.includes(mark));
    if (marks.length > 0) wrong.push(`what ${node} has is in the reply: ${marks.join(', ')}`);
    const isTold = request.mentions.includes(node) || ruleText.includes(node) || node === ambiguousName;
    if (!isTold && isWord(text, node)) wrong.push(`the name of ${node} is in the reply`);
  }
  for (const group of groupNames) {
    if (!text.includes(`c${letter}-${group}-`)) continue;
    const readable = membersOf(policy.world, group).some(mayRead) || mayRead(group);
    if (!readable) wrong.push(`what group ${group} has is in the reply`);
  }
  return wrong;
}

/** Columns that decide trust, as administrators are told, with the attributes that stand for them. */
const trust: Readonly<Record<string, readonly string[]>> = {
  'ipmi.bmc': ['bmc'],
  'openbmc.bmc': ['bmc'],
  'ipmi.bmcport': ['bmcport'],
  'nodehm.mgt': ['mgt'],
  'nodehm.power': ['power'],
  'hosts.ip': ['ip'],
  'hosts.hostnames': ['hostnames'],
  'mac.mac': ['mac'],
  'noderes.servicenode': ['servicenode'],
  'noderes.xcatmaster': ['xcatmaster'],
  'vm.host': ['vmhost'],
  'postscripts.postscripts': ['postscripts'],
  'postscripts.postbootscripts': ['postbootscripts'],
  'nodelist.groups': ['groups', 'members'],
};
const trustTables = ['spcert', 'sshhostkey', 'dhcphost'];
const trustOfSite = ['policy', 'passwd', 'site', 'nodegroup'];

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
      const names = trust[column] ?? (trustTables.includes(table) && name !== 'comments' ? [name] : []);
      if (names.length === 0 || asks().some((asked) => mayDecideTrust(policy, asked, names, node))) continue;
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
    const commented = { ...was, comments: '' };
    const decides =
      trustOfSite.includes(table) && JSON.stringify(commented) !== JSON.stringify({ ...is, comments: '' });
    const allowed = asks().some((asked) => (decides ? mayEverywhere(policy, asked) : mayAtAll(policy, asked)));
    if (allowed || (table === 'nodegroup' && mayChangeGroup((is ?? was)!['groupname']!))) return [];
    return [`table ${table} has another row`];
  }
  const owner = (is ?? was)![column]!;
  if (nodeNames.includes(owner)) return [];
  const members = [before, after].flatMap((world) => membersOf(world, owner));
  const concerned = members.length > 0 ? members : [owner];
  if (!concerned.every(may)) return [`table ${table} has another row of ${owner}`];
  // Also where no member has it from the group today.
  return Object.entries(trust).flatMap(([place, names]) => {
    const [name = '', decisive = ''] = place.split('.');
    if (name !== table || (was?.[decisive] ?? '') === (is?.[decisive] ?? '')) return [];
    const mayDecide = (node: string): boolean => asks().some((asked) => mayDecideTrust(policy, asked, names, node));
    return concerned.every(mayDecide) ? [] : [`group ${owner} has another ${place}, which decides trust`];
  });
}

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

/** Machines that were spoken to without a right to do it. */
export function actedOutside(policy: Policy, letter: Letter, request: Request, heard: readonly string[]): Wrong[] {
  const asked = askedBy(request);
  const nodeAt = (address: string): string | undefined =>
    nodeNames.find((node) => [bmcOf(letter, node), addressOf(letter, node)].includes(address));
  return heard.flatMap((address) => {
    const node = nodeAt(address);
    if (node !== undefined && asked.some((each) => mayOn(policy, each, node))) return [];
    // A search for service processors is about no node.
    if (request.row.command.name === 'bmcdiscover' && asked.some((each) => mayAtAll(policy, each))) return [];
    return `${address}, the machine of ${node ?? 'nobody here'}, was spoken to`;
  });
}

/** Lines of the hosts file that were changed for others. */
export function hostsOutside(policy: Policy, letter: Letter, request: Request, before: string, after: string): Wrong[] {
  if (before === after) return [];
  const asked = askedBy(request);
  const lines = new Set(before.split('\n')).symmetricDifference(new Set(after.split('\n')));
  return nodeNames.flatMap((node) => {
    const concerned = [...lines].some((line) => isWord(line, node) || line.startsWith(`${addressOf(letter, node)} `));
    if (
      !concerned ||
      asked.some((each) => mayOn(policy, each, node)) ||
      asked.some((each) => mayEverywhere(policy, each))
    )
      return [];
    return `the line of ${node} in the hosts file has changed`;
  });
}
