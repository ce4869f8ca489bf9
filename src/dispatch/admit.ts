import {
  type Caller,
  type Command,
  type CommandServices,
  noSelection,
  type Question,
  type Scope,
  type Selection,
  type ServiceName,
} from '../commands/command.ts';
import { Fault } from '../core/errors.ts';
import type { Interruptible } from '../core/slices.ts';
import type { Snapshot } from '../database/snapshot.ts';
import { groupsOf } from '../objects/accounts.ts';
import { type RangeOptions, readCriteria } from '../objects/cluster.ts';
import { allMembers, indexGroups } from '../objects/groups.ts';
import type { Permits } from '../objects/history.ts';
import { policyOf } from '../objects/policy.ts';
import { checkCouldBeAllowed, checkPermission, type Permission, permitsOf, visibleNodes } from './permission.ts';
import type { DispatchServices, Request } from './request.ts';
import type { Run } from './run.ts';
import { checkTarget } from './targets.ts';

/** A request on its way to its command. */
export interface Call<C = Command<unknown>> {
  readonly services: DispatchServices;
  readonly request: Request;
  readonly run: Run;
  readonly command: C;
  readonly permission: Permission;
}

/** What is judged: a request that came here, or what another server was asked for. */
export interface Judged {
  readonly services: Pick<DispatchServices, keyof CommandServices | 'ranges'>;
  readonly request: Pick<
    Request,
    'args' | 'words' | 'user' | 'scope' | 'client' | 'token' | 'login' | 'signal' | 'expectNodes' | 'precondition'
  >;
  readonly run: Pick<Run, 'id'>;
  readonly command: Command<unknown>;
  readonly permission: Permission;
}

/** A scope, and what the policy was asked for it. */
export type Admitted = Scope<ServiceName> & { readonly questions: readonly Question[] };

/** States that the policy is asked in; the first is today's. */
export type Judges = readonly [Snapshot, ...Snapshot[]];

/**
 * Resolves what the request is about and makes sure that the caller may ask for it. The policy is asked in every state of `judges`: what
 * is shown of the past was and is the caller's to see.
 */
export function* admit(
  { services, request, run, command, permission }: Judged,
  snapshot: Snapshot,
  judges: Judges = [snapshot],
): Interruptible<Admitted> {
  const [judge] = judges;
  const { user, scope, client, token, login, signal } = request;
  const isAlways = (name: string): boolean => policyOf(judge, scope).alwaysAllows(user, name);
  const isUnlimited = command.free || (isAlways(command.name) && (command.also?.(request.args) ?? []).every(isAlways));
  const ranges = isUnlimited ? services.ranges : visibleRanges(services.ranges, judges, permission);
  const permits: Permits = (about) => judges.every((each) => permitsOf(each, permission)(about));
  // Not assigned to a property where it is written: V8 takes such functions for lasting ones, and keeps all they know for a long time.
  const permitsIn = (past: Snapshot): Permits => permitsOf(judgeOf(past, judge), permission);
  let selection = noSelection;
  try {
    yield* readCriteria(snapshot, permission.range);
    const selected = command.select?.(snapshot, request.args, { ranges }, permits, user) ?? noSelection;
    selection = 'next' in selected ? yield* selected : selected;
  } catch (error) {
    throw redactedFault(judges, command, permission, error);
  }
  const read = command.reads?.(snapshot, request.args);
  if (read) checkPermission(snapshot, { ...permission, command: 'lsdef', ...read }, read.nodes);
  const whole: Question[] = [{ words: request.words, nodes: selection.nodes, every: selection.every }];
  const questions = isUnlimited ? whole : yield* askPolicy({ request, command, permission }, snapshot, whole, judges);
  const targets = isUnlimited ? [] : (command.actsOn?.(request.args) ?? []);
  for (const target of targets) checkTarget(judge, { permission, nodes: selection.nodes ?? [], questions }, target);
  checkExpectation(request.expectNodes, selection);
  const exists = (selection.objects?.length ?? 0) > 0;
  request.precondition?.(snapshot, command.tablesShown?.(request.args), exists);
  const { addresses } = permission;
  const hasFullRights = (): boolean => policyOf(judge, scope).fullRights(user);
  const groups = groupsOf(judge, user);
  const caller: Caller = { user, groups, scope, client, addresses, token, login, hasFullRights };
  const used = usedServices(services, command);
  return { ...used, run: run.id, questions, caller, selection, ranges, permits, permitsIn, signal };
}

/** Those that the command names. Of a command of any kind it is not known which these are, so they are typed as all. */
export function usedServices(
  services: CommandServices,
  { uses = [] }: { readonly uses?: readonly ServiceName[] | undefined },
): CommandServices {
  const used: Partial<Record<ServiceName, unknown>> = {};
  for (const name of uses) used[name] = services[name];
  return used as CommandServices;
}

/** Rules, and who is in which group. */
const tablesOfRights = ['policy', 'passwd', 'siteaccount'];
const pastJudges = new WeakMap<Snapshot, Snapshot>();

/** Nodes and their groups as they were, with today's rules and accounts. What its ranges mean is kept with it, so it is made once. */
export function judgeOf(past: Snapshot, current: Snapshot): Snapshot {
  const known = pastJudges.get(past);
  if (known && tablesOfRights.every((table) => known.rows(table) === current.rows(table))) return known;
  const judge = tablesOfRights.reduce((made, table) => made.withTable(table, current), past);
  pastJudges.set(past, judge);
  return judge;
}

/** Ranges of callers who may not do everything pass over nodes that they may know nothing of. */
function visibleRanges(ranges: RangeOptions, judges: Judges, permission: Permission): RangeOptions {
  checkCouldBeAllowed(judges[0], permission);
  const visible = judges.flatMap((each) => visibleNodes(each, permission) ?? []);
  if (visible.length === 0) return ranges;
  const [first] = visible;
  const sees = visible.length === 1 ? first! : (node: string): boolean => visible.every((each) => each(node));
  return { ...ranges, sees };
}

/** The error of a request that names something that does not exist: it says so only to callers who might ask for it if it did. */
export function redactedFault(
  judges: Judges,
  command: Command<unknown>,
  permission: Permission,
  error: unknown,
): unknown {
  if (!(error instanceof Fault) || error.kind !== 'unknown-object' || command.free) return error;
  for (const snapshot of judges) {
    checkPermission(snapshot, permission, error.about && [...error.about].sort());
    // A group is unknown to those who may know of none of its nodes; who was not refused by its name may be by them.
    const members = (error.about ?? []).flatMap((name) => allMembers(snapshot, name));
    if (members.length > 0) checkPermission(snapshot, permission, members.sort());
  }
  return error;
}

function* askPolicy(
  { request, command, permission }: Pick<Judged, 'request' | 'command' | 'permission'>,
  snapshot: Snapshot,
  whole: readonly Question[],
  judges: Judges,
): Interruptible<readonly Question[]> {
  for (const judge of judges) {
    indexGroups(judge);
    yield;
  }
  const making = command.questions?.(snapshot, request.args);
  const questions = making ? yield* making : whole;
  for (const { words, nodes, every, command: name = permission.command } of questions) {
    for (const judge of judges) checkPermission(judge, { ...permission, command: name, words }, nodes, every);
    yield;
  }
  return questions;
}

function checkExpectation(expected: number | undefined, { objects }: Selection): void {
  if (expected === undefined) return;
  if (!objects) throw new Fault('expectation', 'X-Expect-Nodes was sent, but this path names no objects.');
  if (objects.length !== expected) {
    throw new Fault(
      'expectation',
      `X-Expect-Nodes is ${expected}, but the path selects ${objects.length} existing objects; nothing was done.`,
    );
  }
}
