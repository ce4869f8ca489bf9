import {
  compilePolicy,
  type Decision,
  type Policy,
  type PolicyRequest,
  type PolicyRow,
  type Rule,
} from '../access/policy.ts';
import { type TokenScope, within } from '../access/token-scope.ts';
import { cachedBy } from '../core/cache.ts';
import type { Interruptible } from '../core/slices.ts';
import type { RowChange } from '../database/changeset.ts';
import type { Snapshot } from '../database/snapshot.ts';
import type { SortedMap } from '../database/sorted-map.ts';
import { type Row, type Table, tableNamed, tables } from '../database/tables.ts';
import { groupsOf } from './accounts.ts';
import { rangeOfRule } from './cluster.ts';
import { effectiveReader } from './effective.ts';
import { allMembers, staticMembers } from './groups.ts';
import { groupType, nodeType, objectTypes, splitNic } from './types.ts';

const policyIn = cachedBy((rows: SortedMap<Row>) => compilePolicy(rows.values() as unknown as PolicyRow[]));

const policyFor = cachedBy(
  (snapshot: Snapshot): Policy => policyIn(snapshot.rows('policy')).for((user) => groupsOf(snapshot, user)),
);

/** The rules of the snapshot, which knows the groups of accounts, for requests whose token is limited to the scope. */
export const policyOf = (snapshot: Snapshot, scope: TokenScope | undefined): Policy =>
  within(policyFor(snapshot), scope);

/** What the policy is asked, now. */
export interface PolicyQuestion extends Omit<PolicyRequest, 'now'> {
  /** What the token of the request is limited to. */
  readonly scope: TokenScope | undefined;
}

/** What the policy of the snapshot says; ranges of rules mean its nodes. */
export const decide = (snapshot: Snapshot, question: PolicyQuestion): Decision =>
  policyOf(snapshot, question.scope).decide({ ...question, now: new Date() }, (range) => rangeOfRule(snapshot, range));

export const explain = (snapshot: Snapshot, question: PolicyQuestion): ReturnType<Policy['explain']> =>
  policyOf(snapshot, question.scope).explain({ ...question, now: new Date() }, (range) => rangeOfRule(snapshot, range));

/** Says on which nodes the command may be run with this argument line, or with a longer one. */
export const allowedOn = (snapshot: Snapshot, question: Omit<PolicyQuestion, 'nodes'>): ((node: string) => boolean) =>
  policyOf(snapshot, question.scope).allowedOn({ ...question, now: new Date() }, (range) =>
    rangeOfRule(snapshot, range),
  );

/** A column that decides trust and is about to change. */
export interface TrustChange {
  /** As arguments name it: the attributes that are stored there, and `table.column`. */
  readonly names: readonly string[];
  /** The node or group whose row it is; undefined in tables that are not about nodes. */
  readonly owner: string | undefined;
  /** Whom it concerns; undefined: not nodes. */
  readonly nodes: readonly string[] | undefined;
}

/** What decides trust in a change set, by what is in effect afterwards. Rows that go with their node decide nothing. */
export function* trustChanges(
  before: Snapshot,
  after: Snapshot,
  changes: readonly RowChange[],
): Interruptible<TrustChange[]> {
  const isGone = (name: string): boolean =>
    before.get('nodelist', name) !== undefined && after.get('nodelist', name) === undefined;
  const found: TrustChange[] = [];
  for (const change of changes) {
    const table = tableNamed(change.table);
    const owner = ownerOf(change, table.nodeColumn);
    if (table.trust.size === 0 || (change.after === undefined && owner !== undefined && isGone(owner))) continue;
    yield;
    const nodes = nodesOf(before, after, change.table, owner);
    const isOfNode = isInherited(table) && nodes?.length === 1 && nodes[0] === owner;
    // Whoever joins a group later gets what it has, and a member whose own value goes: what they have today says too little.
    const written = isOfNode ? [] : stored(change, nodes);
    const changed = isInherited(table) && nodes?.length ? inEffect(before, after, table, nodes) : [];
    for (const [column, concerned] of new Map([...changed, ...written]))
      found.push({ names: trustNames(table.name, column), owner, nodes: concerned });
  }
  return found;
}

/** One row for each node or group, of which a node has what its groups have. */
const isInherited = ({ name, nodeColumn, keys }: Table): boolean =>
  nodeColumn !== undefined && keys.length === 1 && name !== 'nodelist';

type Changed = readonly [column: string, nodes: readonly string[] | undefined][];

function stored({ table: name, before, after }: RowChange, nodes: readonly string[] | undefined): Changed {
  const { trust, nodeColumn } = tableNamed(name);
  return [...trust]
    .filter((column) => column !== nodeColumn && (before?.[column] ?? '') !== (after?.[column] ?? ''))
    .map((column) => [column, nodes]);
}

function inEffect(before: Snapshot, after: Snapshot, table: Table, nodes: readonly string[]): Changed {
  const changed = new Map<string, string[]>();
  for (const node of nodes) {
    const was = effectiveReader(before).row(table, node);
    const willBe = effectiveReader(after).row(table, node);
    for (const column of table.trust) {
      if ((was?.[column] ?? '') === (willBe?.[column] ?? '')) continue;
      const found = changed.get(column);
      if (found) found.push(node);
      else changed.set(column, [node]);
    }
  }
  return [...changed];
}

function ownerOf({ table, before, after }: RowChange, nodeColumn: string | undefined): string | undefined {
  const row: Row = after ?? before ?? {};
  return table === 'nodegroup' ? row['groupname'] : nodeColumn === undefined ? undefined : row[nodeColumn];
}

/** The node itself and the members of a group of that name, as they were and as they will be. */
function nodesOf(
  before: Snapshot,
  after: Snapshot,
  table: string,
  owner: string | undefined,
): readonly string[] | undefined {
  if (owner === undefined) return undefined;
  const snapshots = [before, after];
  if (table === 'nodegroup') return [...new Set(snapshots.flatMap((snapshot) => allMembers(snapshot, owner)))].sort();
  const own = snapshots.some((snapshot) => snapshot.get('nodelist', owner)) ? [owner] : [];
  return [...new Set([...own, ...snapshots.flatMap((snapshot) => staticMembers(snapshot, owner))])].sort();
}

const namesOfColumns = new Map<string, readonly string[]>();

function trustNames(table: string, column: string): readonly string[] {
  const fullName = `${table}.${column}`;
  let names = namesOfColumns.get(fullName);
  if (!names) {
    const attributes = [...objectTypes.values()].flatMap((type) => type.uses.get(table)?.get(column) ?? []);
    // Members of a group are written as the groups of nodes.
    const members = fullName === 'nodelist.groups' ? ['members'] : [];
    names = [...new Set([...attributes.map(({ attribute }) => attribute), ...members, fullName])];
    namesOfColumns.set(fullName, names);
  }
  return names;
}

/** The names that an argument assigns to: `bmc=...` to bmc, `nicips.eth0=...` to nicips. */
function assignedName(word: string): string | undefined {
  const [, name] = /^([A-Za-z][\w.-]*)=/.exec(word) ?? [];
  return name === undefined ? undefined : splitNic(name).base;
}

/** The arguments of a line that decide trust, each with all names of its column. */
export function trustInLine(words: readonly string[]): (readonly string[])[] {
  const found = new Map<string, readonly string[]>();
  for (const word of words) {
    const name = assignedName(word);
    if (name === undefined) continue;
    for (const names of columnsNamed(name)) found.set(names.join(), names);
  }
  return [...found.values()];
}

function columnsNamed(name: string): (readonly string[])[] {
  if (name === 'members') return [trustNames('nodelist', 'groups')];
  const mappings = [nodeType, groupType].flatMap((type) => type.attributes.get(name)?.at ?? []);
  const [table, column] = name.split('.', 2);
  const columns = column === undefined ? mappings : [...mappings, { table: table!, column }];
  return columns.flatMap((each) => (isTrusted(each.table, each.column) ? [trustNames(each.table, each.column)] : []));
}

const isTrusted = (table: string, column: string): boolean => tables.get(table)?.trust.has(column) === true;

/** Why a rule does not cover a change of these names: one that is limited to a node range counts only if its parameters name them. */
export function trustObjection(words: readonly string[], names: readonly string[]): (rule: Rule) => string | undefined {
  return ({ range, line }) => {
    if (range === undefined || (line && speaksOf((text) => line.test(text), words, names))) return undefined;
    return `it is limited to "${range}" and its parameters do not name ${names[0]}`;
  };
}

/**
 * Whether a pattern matches because of the arguments with these names: put under another name, alone or among the others, they must
 * no longer match. A pattern that fits any argument, or fits because of another one, does not name them.
 */
function speaksOf(fits: (line: string) => boolean, words: readonly string[], names: readonly string[]): boolean {
  const meant = words.flatMap((word, i) => (names.includes(assignedName(word) ?? '') ? i : []));
  const others = words.filter((word) => assignedName(word) === undefined);
  return (
    meant.length > 0 &&
    meant.every((at) => {
      const word = words[at]!;
      const renamed = word.replace(/^[^=]+/, (name) => 'z'.repeat(name.length));
      const alone = fits([...others, word].join(' ')) && !fits([...others, renamed].join(' '));
      return alone || !fits(words.with(at, renamed).join(' '));
    })
  );
}
