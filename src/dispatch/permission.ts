import { Fault } from '../core/errors.ts';
import type { Decision } from '../access/policy.ts';
import type { TokenScope } from '../access/token-scope.ts';
import type { Snapshot } from '../database/snapshot.ts';
import { expandSyntactic } from '../noderange/index.ts';
import type { Permits } from '../objects/history.ts';
import { allowedOn, decide, policyOf } from '../objects/policy.ts';

/** Who asks for which command. */
export interface Permission {
  readonly user: string;
  /** What the token of the request is limited to. */
  readonly scope: TokenScope | undefined;
  readonly addresses: readonly string[];
  readonly command: string;
  /** The argument line, as words and as the reference system writes it. */
  readonly words: readonly string[];
  /** What the caller called the objects, to say so in refusals. */
  readonly range: string;
}

const identityOf = ({ user, scope, addresses, command }: Permission) => ({ user, scope, addresses, command });

/** Refuses who could not be permitted whatever they ask for, before anything of it is worked out. */
export function checkCouldBeAllowed(snapshot: Snapshot, permission: Permission): void {
  const { user, scope, command } = permission;
  const policy = policyOf(snapshot, scope);
  if (policy.alwaysAllows(user, command)) return;
  if (!policy.couldAllow({ ...identityOf(permission), now: new Date() }))
    throw denial(permission, permission.range, byWhich(snapshot, permission));
}

/** Whether the rules alone could allow it. */
const byWhich = (snapshot: Snapshot, permission: Permission): Pick<Decision, 'byToken'> => ({
  byToken: policyOf(snapshot, undefined).couldAllow({ ...identityOf(permission), now: new Date() }),
});

/** Refuses what the policy of this snapshot does not allow. */
export function checkPermission(
  snapshot: Snapshot,
  permission: Permission,
  nodes: readonly string[] | undefined,
  every?: boolean,
): void {
  const { user, scope, command, words } = permission;
  if (policyOf(snapshot, scope).alwaysAllows(user, command)) return;
  const pick = naming(snapshot, permission);
  const decision = decide(snapshot, { ...identityOf(permission), line: words.join(' '), nodes, every, pick });
  if (!decision.allowed) throw denial(permission, decision.node ?? calledRange(permission), decision);
}

/** Whether the policy allows it, by rules without the objection. What is about no node is about all of them. */
export const isAllowed = (
  snapshot: Snapshot,
  permission: Permission,
  nodes: readonly string[] | undefined,
  objection?: Parameters<typeof decide>[1]['objection'],
): boolean =>
  decide(snapshot, {
    ...identityOf(permission),
    line: permission.words.join(' '),
    nodes,
    every: nodes === undefined,
    ...(objection ? { objection } : {}),
  }).allowed;

/** The same for commands that ask about each thing they show. */
export const permitsOf =
  (snapshot: Snapshot, permission: Permission): Permits =>
  ({ nodes, every }) =>
    decide(snapshot, { ...identityOf(permission), line: permission.words.join(' '), nodes, every }).allowed;

function denial(
  { user, scope, command }: Permission,
  object: string,
  { priority, byToken }: Pick<Decision, 'priority' | 'byToken'>,
): Fault {
  const on = object === '' ? '' : ` on ${object}`;
  const rule = priority === undefined ? 'no policy rule allows it' : `policy rule ${priority} refuses it`;
  const why = scope && byToken ? `the token ${scope.id} is limited to ${limitsOf(scope)}` : rule;
  return new Fault('denied', `User "${user}" may not run ${command}${on}: ${why}.`);
}

const limitsOf = ({ commands, noderange }: TokenScope): string =>
  [...(commands ? [`the commands ${commands}`] : []), ...(noderange ? [`the nodes ${noderange}`] : [])].join(' and ');

const longestShown = 200;

/** How a refusal calls a node: by its name to who may know of it or named it, else by what was asked for. */
export const calledNode = (snapshot: Snapshot, permission: Permission, node: string): string =>
  naming(snapshot, permission)([node]) ?? calledRange(permission);

const calledRange = ({ range }: Permission): string =>
  range.length > longestShown ? `${range.slice(0, longestShown)}...` : range;

/** Which of some nodes is named; not by their order, which other nodes have a part in. */
function naming(snapshot: Snapshot, permission: Permission): (nodes: readonly string[]) => string | undefined {
  const sees = visibleNodes(snapshot, permission);
  if (!sees) return ([first]) => first;
  return (nodes) => nodes.find(sees) ?? firstIn(namesIn(permission.range), new Set(nodes));
}

const firstIn = (names: readonly string[], nodes: ReadonlySet<string>): string | undefined =>
  names.find((name) => nodes.has(name));

/** The names that a range stands for without a look at the cluster. */
function namesIn(range: string): string[] {
  try {
    return [range, ...expandSyntactic(range)];
  } catch {
    return [range];
  }
}

/** Which nodes the caller may list. */
export function listable(snapshot: Snapshot, permission: Permission): (node: string) => boolean {
  if (policyOf(snapshot, permission.scope).alwaysAllows(permission.user, 'lsdef')) return () => true;
  return allowedOn(snapshot, { ...identityOf(permission), command: 'lsdef', line: '-t node' });
}

/** Which nodes the caller may know of: those the command is allowed on, and those that may be listed. Undefined: all. */
export function visibleNodes(snapshot: Snapshot, permission: Permission): ((node: string) => boolean) | undefined {
  const { user, scope, command, words } = permission;
  const policy = policyOf(snapshot, scope);
  if (policy.alwaysAllows(user, 'lsdef')) return undefined;
  const identity = identityOf(permission);
  if (!policy.dependsOn(user, command).nodes && policy.couldAllow({ ...identity, now: new Date() })) return undefined;
  let mayRun: ((node: string) => boolean) | undefined;
  let mayList: typeof mayRun;
  return (node) => {
    mayRun ??= allowedOn(snapshot, { ...identity, line: words.join(' ') });
    if (mayRun(node)) return true;
    mayList ??= listable(snapshot, permission);
    return mayList(node);
  };
}
