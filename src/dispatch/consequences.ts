import type { Question } from '../commands/command.ts';
import { Fault } from '../core/errors.ts';
import { atOnce, type Interruptible } from '../core/slices.ts';
import type { RowChange } from '../database/changeset.ts';
import type { Snapshot } from '../database/snapshot.ts';
import { nodeTables } from '../database/tables.ts';
import { accountNames } from '../objects/accounts.ts';
import { affectedNodes } from '../objects/catalog.ts';
import { addressClaim, claimsOf, claimsOfSite, foreignNames, isNameClaim } from '../objects/claims.ts';
import { rangeOfRule } from '../objects/cluster.ts';
import { listItems } from '../core/list-items.ts';
import { effectiveReader } from '../objects/effective.ts';
import { allNodes, indexGroups, staticMembers } from '../objects/groups.ts';
import { policyOf, type TrustChange, trustChanges, trustInLine, trustObjection } from '../objects/policy.ts';
import { calledNode, checkPermission, isAllowed, type Permission } from './permission.ts';

/** A change set as the policy looks at it: what it changes beyond what the request names. */
interface Consequences {
  readonly before: Snapshot;
  readonly after: Snapshot;
  readonly changes: readonly RowChange[];
  readonly permission: Permission;
  readonly questions: readonly Question[];
  /** Of questions that no rule distinguishes one. */
  readonly different: readonly Question[];
  /** Nodes whose definition may differ afterwards, also by inheritance. */
  readonly affected: readonly string[];
}

/**
 * Refuses a change set that reaches further than the policy lets its author: to nodes that only inherit what changes, to the sets of
 * nodes that rules and groups with attributes stand for, to what decides trust, and to machines and names of others. The right to the
 * command is a right to what the tables of `decides` trust.
 */
export function* checkConsequences(
  before: Snapshot,
  made: () => Snapshot,
  changes: readonly RowChange[],
  permission: Permission,
  questions: readonly Question[],
  decides: readonly string[] = [],
): Interruptible<void> {
  const { user, scope, command } = permission;
  const policy = policyOf(before, scope);
  if (changes.length === 0 || policy.fullRights(user)) return;
  const isLimited = policy.dependsOn(user, command).nodes;
  if (!isLimited && !changes.some(({ table }) => namingTables.has(table))) return;
  const after = made();
  yield;
  indexGroups(after);
  yield;
  const different = yield* differentQuestions(before, permission, questions);
  const found = affected(before, after);
  yield;
  const change = { before, after, changes, permission, questions, different, affected: found };
  yield* checkForeignNames(change);
  if (!isLimited) return;
  checkAffected(change);
  yield* checkTrust({ ...change, changes: changes.filter(({ table }) => !decides.includes(table)) });
  yield* checkSets(change);
  yield* checkClaims(change);
}

/** A bulk request asks one question for each object, mostly of the same kind. */
function* differentQuestions(
  snapshot: Snapshot,
  { user, scope, command }: Permission,
  questions: readonly Question[],
): Interruptible<readonly Question[]> {
  const policy = policyOf(snapshot, scope);
  const classes = new Map<string, Question>();
  for (const question of questions) {
    classes.set(policy.lineClass(user, command, question.words.join(' ')), question);
    yield;
  }
  return [...classes.values()];
}

const namingTables = new Set(['hosts', 'nics', 'nodelist']);

function affected(before: Snapshot, after: Snapshot): readonly string[] {
  const found = affectedNodes(before, after);
  if (found === 'all') return allNodes(before);
  return [...found].filter((name) => before.get('nodelist', name) ?? after.get('nodelist', name)).sort();
}

/** Every question must be allowed on the nodes: none of them may be more than the policy grants. */
function checkAll({ before, permission, different }: Consequences, nodes: readonly string[]): void {
  for (const { words } of different) checkPermission(before, { ...permission, words }, nodes);
}

function checkAffected(change: Consequences): void {
  const asked = new Set(change.questions.flatMap(({ nodes = [] }) => nodes));
  const others = change.affected.filter((node) => !asked.has(node));
  if (others.length > 0) checkAll(change, others);
}

function* checkTrust({ before, after, changes, permission, questions }: Consequences): Interruptible<void> {
  const trust = yield* trustChanges(before, after, changes);
  for (const { names, nodes, asking } of groupedByQuestion(trust, questions)) {
    for (const { words } of asking) {
      yield;
      const asked = { ...permission, words };
      if (isAllowed(before, asked, nodes, trustObjection(words, names))) continue;
      const [node] = nodes ?? [];
      const of = node === undefined ? '' : ` of ${calledNode(before, permission, node)}`;
      // Where the arguments do not name it, no parameters can.
      const isNamed = trustInLine(words).some((named) => named.includes(names[0]!));
      const orNamed = isNamed ? `, or one whose parameters name it, such as "${names[0]}="` : '';
      throw new Fault(
        'denied',
        `User "${permission.user}" may not change ${names[0]}${of}: it decides whom muster trusts, which needs a policy rule ` +
          `for ${permission.command} without a noderange${orNamed}.`,
      );
    }
  }
}

interface Group {
  readonly names: readonly string[];
  readonly asking: readonly Question[];
  nodes: string[] | undefined;
}

/** Changes of one column that the same questions account for, taken together: thousands of nodes are mostly changed alike. */
function groupedByQuestion(trust: readonly TrustChange[], questions: readonly Question[]): Iterable<Group> {
  const groups = new Map<readonly Question[], Map<string, Group>>();
  const asked = questionFinder(questions);
  for (const { names, owner, nodes } of trust) {
    const asking = asked(owner, names);
    let sameAsking = groups.get(asking);
    if (!sameAsking) groups.set(asking, (sameAsking = new Map()));
    const key = `${names.join()} ${nodes === undefined}`;
    const group = sameAsking.get(key);
    if (!group) sameAsking.set(key, { names, asking, nodes: nodes && [...nodes] });
    else for (const node of nodes ?? []) group.nodes!.push(node);
  }
  return [...groups.values()].flatMap((sameAsking) => [...sameAsking.values()]);
}

/** Finds what was said of an object; where no object is named, all that was said of the attribute, or anything. Equal lists are the same. */
function questionFinder(
  questions: readonly Question[],
): (owner: string | undefined, names: readonly string[]) => readonly Question[] {
  if (questions.length === 1) return () => questions;
  const ofObjects = Map.groupBy(
    questions.flatMap((question) => (question.objects ?? []).map((object) => ({ object, question }))),
    ({ object }) => object,
  );
  const own = new Map([...ofObjects].map(([object, found]) => [object, found.map(({ question }) => question)]));
  const speaking = new Map<string, readonly Question[]>();
  return (owner, names) => {
    const ofOwner = owner === undefined ? undefined : own.get(owner);
    if (ofOwner) return ofOwner;
    const key = names.join();
    let found = speaking.get(key);
    if (!found) {
      found = questions.filter(({ words }) => words.some((word) => names.includes(word.split('=', 1)[0]!)));
      speaking.set(key, (found = found.length > 0 ? found : questions));
    }
    return found;
  };
}

/**
 * What a rule's node range selects, and who is in a group that carries attributes, changes only with rights on all nodes that were
 * and will be in it. Nodes that are removed need no more than the right to remove them.
 */
function* checkSets(change: Consequences): Interruptible<void> {
  const { before, after } = change;
  const exists = (node: string): boolean => after.get('nodelist', node) !== undefined;
  const ranges = yield* rangesOfRules(before, after, change.permission.scope);
  const sets = [...ranges, ...groupsWithAttributes(change)];
  for (const [was, willBe] of sets) {
    yield;
    const remaining = [...was].filter(exists);
    const moved = remaining.some((node) => !willBe.has(node)) || [...willBe].some((node) => !was.has(node));
    if (!moved) continue;
    // A set without members is nobody's; only who may do it on every node may fill it.
    checkAll(change, remaining.sort());
    checkAll(change, [...willBe].sort());
  }
}

type Sets = (readonly [was: ReadonlySet<string>, willBe: ReadonlySet<string>])[];

function* rangesOfRules(before: Snapshot, after: Snapshot, scope: Permission['scope']): Interruptible<Sets> {
  const expand = (snapshot: Snapshot, range: string): ReadonlySet<string> => {
    try {
      return rangeOfRule(snapshot, range);
    } catch (error) {
      // Such a range means no node for the rule either.
      if (error instanceof Fault) return new Set();
      throw error;
    }
  };
  const sets: Sets = [];
  for (const range of policyOf(before, scope).ranges) {
    const was = expand(before, range);
    yield;
    sets.push([was, expand(after, range)]);
    yield;
  }
  return sets;
}

function groupsWithAttributes({ before, after, changes }: Consequences): Sets {
  const groups = new Set<string>();
  for (const { table, before: old, after: row } of changes) {
    if (table !== 'nodelist' || !row) continue;
    const [was, willBe] = [old, row].map((each) => new Set(listItems(each?.['groups'] ?? '')));
    for (const group of was!.symmetricDifference(willBe!)) groups.add(group);
  }
  // The rows of a node are those of a group with its name, and whoever joins that gets what the node has or will have.
  const isNode = (group: string): boolean => before.get('nodelist', group) !== undefined;
  const nodesOf = (snapshot: Snapshot, group: string): Set<string> =>
    new Set([...(isNode(group) ? [group] : []), ...staticMembers(snapshot, group)]);
  return [...groups]
    .filter((group) => isNode(group) || carriesAttributes(before, group) || carriesAttributes(after, group))
    .map((group) => [nodesOf(before, group), nodesOf(after, group)] as const);
}

const carriesAttributes = (snapshot: Snapshot, group: string): boolean =>
  nodeTables.some((table) => table.name !== 'nodelist' && effectiveReader(snapshot).ownRows(table, group).length > 0);

/** Another's address, name, MAC, certificate, key or place is taken only with rights on that node. */
function* checkClaims({ before, after, permission, different, affected: nodes }: Consequences): Interruptible<void> {
  const made: Claims = new Map();
  for (const node of nodes) {
    yield;
    if (!after.get('nodelist', node)) continue;
    const known = claimsOf(effectiveReader(before), node);
    for (const [claim, what] of claimsOf(effectiveReader(after), node))
      if (!known.has(claim)) made.set(claim, { node, what });
  }
  yield* checkMade(before, made, permission, different);
}

/** The same for an address that a command gives to the machine of a node, whatever is stored of it. */
export function checkTaken(
  snapshot: Snapshot,
  permission: Permission,
  nodes: readonly string[],
  address: string,
  questions: readonly Question[],
): void {
  const { user, scope, command } = permission;
  const policy = policyOf(snapshot, scope);
  if (policy.fullRights(user) || !policy.dependsOn(user, command).nodes) return;
  const claim = addressClaim(address);
  for (const node of nodes) {
    if (claimsOf(effectiveReader(snapshot), node).has(claim)) continue;
    atOnce(checkMade(snapshot, new Map([[claim, { node, what: `the address ${address}` }]]), permission, questions));
  }
}

/** By claim, who makes it and what people call it. */
type Claims = Map<string, { readonly node: string; readonly what: string }>;

function* checkMade(
  snapshot: Snapshot,
  made: Claims,
  permission: Permission,
  questions: readonly Question[],
): Interruptible<void> {
  if (made.size === 0) return;
  const refusal = ({ node, what }: { node: string; what: string }, why: string): Fault =>
    new Fault(
      'denied',
      `User "${permission.user}" may not give ${calledNode(snapshot, permission, node)} ${what}: ${why}`,
    );
  const reader = effectiveReader(snapshot);
  for (const other of allNodes(snapshot)) {
    yield;
    for (const claim of claimsOf(reader, other).keys()) {
      const found = made.get(claim);
      if (!found || found.node === other) continue;
      for (const { words } of questions) {
        if (isAllowed(snapshot, { ...permission, words }, [other])) continue;
        throw refusal(found, 'it belongs to a node that this needs rights on too.');
      }
    }
  }
  const isOfSite = claimsOfSite(snapshot);
  for (const [claim, found] of made) {
    yield;
    if (!isNameClaim(claim) && !isOfSite(claim)) continue;
    if (isCoveredEverywhere(snapshot, permission, questions, found.node)) continue;
    throw refusal(
      found,
      isNameClaim(claim)
        ? 'nobody knows whose machine a name leads to. Give an address, or ask for a policy rule without a noderange.'
        : 'it belongs to the management node or to a gateway, which needs a policy rule without a noderange.',
    );
  }
}

/** Whether rules that are limited to no range allow it on the node. */
function isCoveredEverywhere(
  snapshot: Snapshot,
  permission: Permission,
  questions: readonly Question[],
  node: string,
): boolean {
  const limited = trustObjection([], ['it']);
  return questions.every(({ words }) => isAllowed(snapshot, { ...permission, words }, [node], limited));
}

/** In the hosts file such a name would lead the management node itself astray. */
function* checkForeignNames({ before, after, permission, affected: nodes }: Consequences): Interruptible<void> {
  for (const node of nodes) {
    yield;
    const known = foreignNames(before, node);
    for (const name of foreignNames(after, node)) {
      if (known.has(name)) continue;
      throw new Fault(
        'denied',
        `User "${permission.user}" may not give ${calledNode(before, permission, node)} the name "${name}": it is outside the cluster's domains, which needs full rights.`,
      );
    }
  }
}

/** Refuses a change that would leave nobody who may do everything. */
export function checkStillGoverned(changes: readonly RowChange[], after: () => Snapshot): void {
  if (!changes.some(({ table }) => table === 'policy' || table === 'passwd')) return;
  const snapshot = after();
  const policy = policyOf(snapshot, undefined);
  if (accountNames(snapshot).some((user) => policy.fullRights(user))) return;
  throw new Fault(
    'invalid',
    'After this change no account would have full rights. Give them to an account that exists first, such as PUT /tables/policy/rows/priority=1 {"name":"root","rule":"allow"}.',
  );
}
