import { compilePolicy, type Policy, type PolicyRow } from '../access/policy.ts';
import { Fault } from '../core/errors.ts';
import type { RowChange } from '../database/changeset.ts';
import type { Snapshot } from '../database/snapshot.ts';
import type { SortedMap } from '../database/sorted-map.ts';
import type { Row } from '../database/tables.ts';
import { accountNames } from '../objects/accounts.ts';
import { affectedNodes } from '../objects/catalog.ts';
import { expandRange } from '../objects/cluster.ts';
import { visibleNodes } from '../objects/groups.ts';

const policies = new WeakMap<SortedMap<Row>, Policy>();

export function policyOf(snapshot: Snapshot): Policy {
  const rows = snapshot.rows('policy');
  let policy = policies.get(rows);
  if (!policy) policies.set(rows, (policy = compilePolicy(rows.values() as unknown as PolicyRow[])));
  return policy;
}

export interface Permission {
  readonly user: string;
  readonly addresses: readonly string[];
  readonly command: string;
  readonly aliases: readonly string[] | undefined;
  readonly line: string;
}

const ruleRanges = new WeakMap<Snapshot, Map<string, ReadonlySet<string>>>();

function rangeOfRule(snapshot: Snapshot, range: string): ReadonlySet<string> {
  let ranges = ruleRanges.get(snapshot);
  if (!ranges) ruleRanges.set(snapshot, (ranges = new Map()));
  let nodes = ranges.get(range);
  if (!nodes) ranges.set(range, (nodes = new Set(expandRange(snapshot, range).nodes)));
  return nodes;
}

/** Refuses what the policy of this snapshot does not allow. */
export function checkPermission(
  snapshot: Snapshot,
  permission: Permission,
  nodes: readonly string[] | undefined,
): void {
  const { user, addresses, command, aliases, line } = permission;
  const policy = policyOf(snapshot);
  if (policy.alwaysAllows(user, command, aliases)) return;
  const decision = policy.decide(
    { user, addresses, command, line, nodes, now: new Date(), ...(aliases ? { aliases } : {}) },
    (range) => rangeOfRule(snapshot, range),
  );
  if (decision.allowed) return;
  const on = decision.node === undefined ? '' : ` on ${decision.node}`;
  const rule =
    decision.priority === undefined ? 'no policy rule allows it' : `policy rule ${decision.priority} refuses it`;
  throw new Fault('denied', `User "${user}" may not run ${command}${on}: ${rule}.`);
}

/** A write also needs permission for every node whose membership or inherited value it changes. */
export function checkAffected(before: Snapshot, made: () => Snapshot, permission: Permission): void {
  const { user, command, aliases } = permission;
  if (!policyOf(before).dependsOn(user, command, aliases).nodes) return;
  const after = made();
  const affected = affectedNodes(before, after);
  const names =
    affected === 'all'
      ? visibleNodes(before)
      : [...affected].filter((name) => before.get('nodelist', name) ?? after.get('nodelist', name));
  if (names.length > 0) checkPermission(before, permission, [...names].sort());
}

/** Refuses a change that would leave nobody who may do everything. */
export function checkStillGoverned(changes: readonly RowChange[], after: () => Snapshot): void {
  if (!changes.some(({ table }) => table === 'policy' || table === 'passwd')) return;
  const snapshot = after();
  const policy = policyOf(snapshot);
  if (accountNames(snapshot).some((user) => policy.fullRights(user))) return;
  throw new Fault(
    'invalid',
    'After this change no account would have full rights; keep a rule such as {"name":"root","rule":"allow"} for one that exists.',
  );
}
