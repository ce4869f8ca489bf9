import { Fault } from '../core/errors.ts';
import type { Snapshot } from '../database/snapshot.ts';
import { expandSyntactic } from '../noderange/index.ts';
import { allowedNodes, decide, policyOf } from '../objects/policy.ts';

/** Who asks for which command. */
export interface Permission {
  readonly user: string;
  readonly addresses: readonly string[];
  readonly command: string;
  /** The argument line, as words and as the reference system writes it. */
  readonly words: readonly string[];
  /** What the caller called the objects, to say so in refusals. */
  readonly range: string;
}

const identityOf = ({ user, addresses, command }: Permission) => ({ user, addresses, command });

/** Refuses who could not be permitted whatever they ask for, before anything of it is worked out. */
export function checkCouldBeAllowed(snapshot: Snapshot, permission: Permission): void {
  const { user, command } = permission;
  const policy = policyOf(snapshot);
  if (policy.alwaysAllows(user, command)) return;
  if (!policy.couldAllow({ ...identityOf(permission), now: new Date() }))
    throw denial(permission, permission.range, undefined);
}

/** Refuses what the policy of this snapshot does not allow. */
export function checkPermission(
  snapshot: Snapshot,
  permission: Permission,
  nodes: readonly string[] | undefined,
  every?: boolean,
): void {
  const { user, command, words } = permission;
  if (policyOf(snapshot).alwaysAllows(user, command)) return;
  const decision = decide(snapshot, { ...identityOf(permission), line: words.join(' '), nodes, every });
  if (!decision.allowed) throw denial(permission, calledNode(snapshot, permission, decision.node), decision.priority);
}

/** Whether the policy allows it though only rules without the objection count. */
export const isAllowedDespite = (
  snapshot: Snapshot,
  permission: Permission,
  nodes: readonly string[] | undefined,
  objection: Parameters<typeof decide>[1]['objection'],
): boolean =>
  decide(snapshot, {
    ...identityOf(permission),
    line: permission.words.join(' '),
    nodes,
    ...(objection ? { objection } : {}),
  }).allowed;

function denial({ user, command }: Permission, object: string, priority: string | undefined): Fault {
  const on = object === '' ? '' : ` on ${object}`;
  const rule = priority === undefined ? 'no policy rule allows it' : `policy rule ${priority} refuses it`;
  return new Fault('denied', `User "${user}" may not run ${command}${on}: ${rule}.`);
}

const longestShown = 200;

/**
 * A node is named to those who named it themselves or may know of it; to others what they asked for is named, whether or not there
 * is such a thing.
 */
export function calledNode(snapshot: Snapshot, permission: Permission, node: string | undefined): string {
  const { range } = permission;
  const called = range.length > longestShown ? `${range.slice(0, longestShown)}...` : range;
  if (node === undefined || node === range) return called;
  return isNamed(range, node) || sight(snapshot, permission)?.(node) !== false ? node : called;
}

/** Whether the range names the node without a look at the cluster. */
function isNamed(range: string, node: string): boolean {
  try {
    return expandSyntactic(range).includes(node);
  } catch {
    return false;
  }
}

/**
 * Which nodes the caller may know of: those the command is allowed on, and those that may be listed. Undefined: all, since the
 * command is not limited to some.
 */
export function sight(snapshot: Snapshot, permission: Permission): ((node: string) => boolean) | undefined {
  const { user, command, words } = permission;
  const policy = policyOf(snapshot);
  if (!policy.dependsOn(user, command).nodes || policy.alwaysAllows(user, 'lsdef')) return undefined;
  let seen: ReadonlySet<string> | undefined;
  return (node) => {
    seen ??= allowedNodes(snapshot, { ...identityOf(permission), line: words.join(' ') }).union(
      allowedNodes(snapshot, { user, addresses: permission.addresses, command: 'lsdef', line: '-t node' }),
    );
    return seen.has(node);
  };
}
