import {
  type Act,
  type Answer,
  type AnyCommand,
  type Caller,
  type Change,
  type Command,
  noSelection,
  type Query,
  type Question,
  type Scope,
  type Selection,
} from '../commands/command.ts';
import type { AnyLong } from '../commands/long.ts';
import type { AnyPerNode } from '../commands/per-node.ts';
import { errorKinds, Fault } from '../core/errors.ts';
import { atOnce, inSlices, type Sliced } from '../core/slices.ts';
import type { RowChange } from '../database/changeset.ts';
import type { AuditRecord } from '../database/database.ts';
import type { Refusals } from '../access/refusals.ts';
import { Draft, type Seal } from '../database/draft.ts';
import type { Snapshot } from '../database/snapshot.ts';
import { allMembers, indexGroups } from '../objects/groups.ts';
import type { Permits } from '../objects/journal-sight.ts';
import { revisionOf } from '../objects/moments.ts';
import { notesOn } from '../objects/notes.ts';
import { checkPatterns } from '../objects/pattern-check.ts';
import { policyOf } from '../objects/policy.ts';
import { sentenceWithoutSecrets } from '../objects/secret-names.ts';
import { checkConsequences, checkStillGoverned } from './consequences.ts';
import { discreetly } from './discreet.ts';
import { beginLong, type LongServices, type WorkUnderWay } from './long.ts';
import { checkCouldBeAllowed, checkPermission, type Permission, permitsOf, sight } from './permission.ts';
import { type NodeResults, perNodeResults, type PerNodeServices } from './per-node.ts';
import { peerNames } from './peer-names.ts';
import type { Run, RunEnd } from './runs.ts';
import { shortened } from './shortened.ts';
import { checkTarget } from './targets.ts';

/** One request for a command, from wherever it came. */
export interface Request {
  readonly command: AnyCommand;
  readonly args: unknown;
  /** The argument line as the reference system writes it, without secrets. */
  readonly words: readonly string[];
  /** What the audit log keeps of it. */
  readonly line: string;
  /** The node range or object names, for the audit log. */
  readonly range: string;
  readonly user: string;
  /** The peer's address. */
  readonly client: string;
  readonly token: string | undefined;
  /** The stored hash that the caller's password was checked with. */
  readonly login: string | undefined;
  /** How the caller showed who they are; noted in the audit log if unusual. */
  readonly note: string;
  readonly id: string;
  readonly dryRun: boolean;
  readonly expectNodes: number | undefined;
  readonly revision: number | undefined;
  readonly precondition?: Precondition | undefined;
  /** A revision or a time, for whoever wants to know how things were. */
  readonly at?: string | undefined;
  /** Aborted when the client leaves. */
  readonly signal: () => AbortSignal;
  /** The client does not wait for the end of the work. */
  readonly detached: boolean;
  /** Hears of the run's id before anything else happens. */
  began(run: string): void;
}

/** Refuses a write that was meant for another state: `tables` are those behind what it is about, if that can be told. */
export type Precondition = (snapshot: Snapshot, tables: readonly string[] | undefined, exists: boolean) => void;

export interface Outcome {
  readonly run: Run;
  readonly revision: number;
  readonly snapshot: Snapshot;
  readonly answer: Answer | ({ readonly shape: 'stream' } & NodeResults) | WorkUnderWay | DryRun;
}

export interface DryRun {
  readonly shape: 'dry-run';
  readonly changes: readonly RowChange[];
  readonly nodes: number;
}

export interface DispatchServices extends PerNodeServices, Pick<LongServices, 'longWork'> {
  readonly seal: Seal;
  readonly audit: boolean;
  readonly refusals: Refusals;
}

const revisionTimeout = 5_000;

/** The one way in for every command: resolve what it is about, check the policy, run it, note it in the audit log. */
export function dispatch(services: DispatchServices, request: Request): Promise<Outcome> | Outcome {
  const run = services.runs.begin(request.command.name, request.user, request.command.kind);
  request.began(run.id);
  const failed = (error: unknown): Promise<never> => fail(services, request, run, error);
  try {
    const executed = isAhead(services, request)
      ? reachRevision(services, request).then(() => execute(services, request, run))
      : execute(services, request, run);
    const outcome =
      executed instanceof Promise
        ? executed.then((done) => conclude(services, request, done))
        : conclude(services, request, executed);
    return outcome instanceof Promise ? outcome.catch(failed) : outcome;
  } catch (error) {
    return failed(error);
  }
}

function conclude(services: DispatchServices, request: Request, outcome: Outcome): Promise<Outcome> | Outcome {
  if (outcome.answer.shape !== 'stream' && outcome.answer.shape !== 'work') services.runs.finish(outcome.run, 0);
  if (outlivesClient(request) || isNotedFirst(request))
    return auditNow(services, request, 'Allowed').then(() => outcome);
  if (request.dryRun) auditSoon(services, request, 'Allowed (dry run)');
  else if (request.command.kind === 'query' || request.command.kind === 'per-node')
    auditSoon(services, request, 'Allowed');
  return outcome;
}

async function fail(services: DispatchServices, request: Request, run: Run, error: unknown): Promise<never> {
  const state: RunEnd['state'] = run.abort?.signal.aborted ? 'cancelled' : 'finished';
  const end = run.progress && error instanceof Fault ? { state, error: error.sentences } : undefined;
  services.runs.finish(run, error instanceof Fault ? errorKinds[error.kind].code : 5, end);
  await auditFailure(services, request, error);
  throw error;
}

function execute(services: DispatchServices, request: Request, run: Run): Promise<Outcome> | Outcome {
  const command = request.command as Command<unknown>;
  if (request.dryRun && command.kind !== 'change') {
    throw new Fault('invalid', `${command.name} cannot be tried with dryRun; only changes of the database can.`);
  }
  const { current } = services.store;
  if (policyOf(current).needsHostNames) {
    return peerNames(request.client).then((names) => executeFrom([request.client, ...names]));
  }
  return executeFrom([request.client]);

  function executeFrom(addresses: readonly string[]): Promise<Outcome> | Outcome {
    const { user, words, range } = request;
    const permission = { user, addresses, command: command.name, words, range };
    if (command.kind === 'query') return runQuery({ services, request, run, command, permission });
    if (command.kind === 'change') return runChange({ services, request, run, command, permission });
    if (command.kind === 'act') return runAct({ services, request, run, command, permission });
    if (command.kind === 'long') return runLong({ services, request, run, command, permission });
    return runPerNode({ services, request, run, command, permission });
  }
}

/** A request on its way to its command. */
interface Call<C = Command<unknown>> {
  readonly services: DispatchServices;
  readonly request: Request;
  readonly run: Run;
  readonly command: C;
  readonly permission: Permission;
}

/** A scope, and what the policy was asked for it. */
interface Admitted extends Scope {
  readonly questions: readonly Question[];
}

/**
 * Resolves what the request is about and makes sure that the caller may ask for it. The policy is asked in every state of `judges`: what
 * is shown of the past was and is the caller's to see.
 */
function* admit(
  { services, request, run, command, permission }: Call,
  snapshot: Snapshot,
  judges: Judges = [snapshot],
): Sliced<Admitted> {
  const [judge] = judges;
  const { user, client, token, login } = request;
  const isAlways = (name: string): boolean => policyOf(judge).alwaysAllows(user, name);
  const isUnlimited = command.free || (isAlways(command.name) && (command.also?.(request.args) ?? []).every(isAlways));
  const limited = isUnlimited ? services : viewOf(services, judges, permission);
  const permits: Permits = (about) => judges.every((each) => permitsOf(each, permission)(about));
  // Not assigned to a property where it is written: V8 takes such functions for lasting ones, and keeps all they know for a long time.
  const permitsIn = (past: Snapshot): Permits => permitsOf(judgeOf(past, judge), permission);
  let selection = noSelection;
  try {
    const selected = command.select?.(snapshot, request.args, limited, permits, request.user) ?? noSelection;
    selection = 'next' in selected ? yield* selected : selected;
  } catch (error) {
    throw discreetFault(judges, command, permission, error);
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
  const hasFullRights = (): boolean => policyOf(judge).fullRights(user);
  const caller: Caller = { user, client, addresses, token, login, hasFullRights };
  // The services are inherited: a copy of them would cost every request more than the rest of this.
  const scope = Object.create(limited) as { -readonly [K in keyof Admitted]: Admitted[K] };
  scope.run = run.id;
  scope.questions = questions;
  scope.caller = caller;
  scope.selection = selection;
  scope.permits = permits;
  scope.permitsIn = permitsIn;
  scope.signal = request.signal;
  return scope;
}

/** States that the policy is asked in; the first is today's. */
type Judges = readonly [Snapshot, ...Snapshot[]];

const pastJudges = new WeakMap<Snapshot, Snapshot>();

/** Nodes and groups as they were, with today's rules. What its ranges mean is kept with it, so it is made once. */
function judgeOf(past: Snapshot, current: Snapshot): Snapshot {
  const known = pastJudges.get(past);
  if (known && known.rows('policy') === current.rows('policy')) return known;
  const judge = past.withTable('policy', current);
  pastJudges.set(past, judge);
  return judge;
}

/** Ranges of callers who may not do everything pass over nodes that they may know nothing of. */
function viewOf(services: DispatchServices, judges: Judges, permission: Permission): DispatchServices {
  checkCouldBeAllowed(judges[0], permission);
  const sights = judges.flatMap((each) => sight(each, permission) ?? []);
  if (sights.length === 0) return services;
  const [first] = sights;
  const sees = sights.length === 1 ? first! : (node: string): boolean => sights.every((each) => each(node));
  const limited = Object.create(services) as { -readonly [K in keyof DispatchServices]: DispatchServices[K] };
  limited.ranges = { ...services.ranges, sees };
  return limited;
}

/** What a caller is told whose request names something that does not exist: that, only if it might be asked for if it did. */
function discreetFault(judges: Judges, command: Command<unknown>, permission: Permission, error: unknown): unknown {
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
  { request, command, permission }: Pick<Call, 'request' | 'command' | 'permission'>,
  snapshot: Snapshot,
  whole: readonly Question[],
  judges: Judges,
): Sliced<readonly Question[]> {
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

function runQuery(call: Call<Query<unknown>>): Outcome | Promise<Outcome> {
  const { current } = call.services.store;
  return call.request.at === undefined ? answered(call, current, [current]) : runPast(call, current, call.request.at);
}

/** As it was: what is asked for is looked up there, who may see it is decided by today's rules, of the nodes as they are and as they were. */
async function runPast(call: Call<Query<unknown>>, current: Snapshot, at: string): Promise<Outcome> {
  const { services, request, command, permission } = call;
  if (!command.showsPast?.(request.args))
    throw new Fault(
      'invalid',
      `${command.name} cannot tell how this was: only definitions and tables are in the journal.`,
    );
  if (!command.free) checkCouldBeAllowed(current, permission);
  const past = await services.store.past.at(current, await revisionOf(services.store, current, 'at', at));
  const outcome = await answered(call, past, [current, judgeOf(past, current)]);
  // Tags are those of states that follow each other.
  return { ...outcome, answer: withoutTag(outcome.answer as Answer) };
}

function withoutTag(answer: Answer): Answer {
  if (!('dependsOn' in answer)) return answer;
  const { dependsOn: _, ...rest } = answer;
  return rest;
}

function answered(call: Call<Query<unknown>>, snapshot: Snapshot, judges: Judges): Outcome | Promise<Outcome> {
  const { request, run, command } = call;
  const outcome = (finished: Answer): Outcome => ({ run, revision: snapshot.revision, snapshot, answer: finished });
  const answer = (scope: Admitted): Outcome | Promise<Outcome> => {
    run.nodes = run.ok = scope.selection.objects?.length ?? 0;
    const made = command.run(snapshot, request.args, scope);
    return made instanceof Promise ? made.then(outcome) : outcome(made);
  };
  const admitted = inSlices(admit(call, snapshot, judges));
  return admitted instanceof Promise ? admitted.then(answer) : answer(admitted);
}

async function runChange(call: Call<Change<unknown>>): Promise<Outcome> {
  const { services, request, run, command, permission } = call;
  const { store, seal } = services;
  if (command.prepare && !command.free) checkCouldBeAllowed(store.current, permission);
  const isLimited = !policyOf(store.current).alwaysAllows(request.user, command.name);
  const prepared = command.prepare
    ? { ...request, args: await command.prepare(request.args, services, isLimited) }
    : request;
  let answer: Answer = { shape: 'none' };
  const compute = function* (head: Snapshot): Sliced<RowChange[]> {
    const scope = yield* admit(prepared === request ? call : { ...call, request: prepared }, head);
    const draft = new Draft(head, seal);
    const after = (): Snapshot => draft.snapshot();
    try {
      const planned = command.plan(draft, prepared.args, scope);
      answer = 'shape' in planned ? planned : yield* planned;
    } catch (error) {
      throw discreetFault([head], command, permission, error);
    }
    run.nodes = run.ok = (scope.selection.objects?.length ?? 0) + (scope.selection.missing?.length ?? 0);
    const changes = draft.changes();
    yield;
    // All that comes of it must be allowed to each command whose work it does.
    const others = command.also?.(request.args) ?? [];
    for (const name of command.free ? [] : [command.name, ...others]) {
      const isOwn = (question: Question): boolean => (question.command ?? command.name) === name;
      const questions = others.length > 0 ? scope.questions.filter(isOwn) : scope.questions;
      const asked = name === permission.command ? permission : { ...permission, command: name };
      yield* checkConsequences(head, after, changes, asked, questions);
    }
    checkStillGoverned(changes, after);
    yield* checkPatterns(changes, after);
    if (changes.length > 0) {
      const { sees } = scope.ranges;
      const circumstances = { before: head, after, drivers: services.hardware.kinds, sees };
      const notes = [...(('notes' in answer && answer.notes) || []), ...(yield* notesOn(changes, circumstances))];
      if (notes.length > 0) run.notes = notes.map(sentenceWithoutSecrets);
    }
    return changes;
  };
  if (request.dryRun) {
    const { head } = store;
    const changes = await inSlices(compute(head));
    return { run, revision: head.revision, snapshot: head, answer: { shape: 'dry-run', changes, nodes: run.nodes } };
  }
  const reverts = command.reverts?.(request.args);
  const origin = { user: request.user, client: request.client, command: command.name, run: run.id, reverts };
  const audit = services.audit ? auditRecord(request, 'Allowed') : undefined;
  const revision = await store.commit(origin, compute, audit);
  run.messages = 'messages' in answer ? answer.messages : undefined;
  return { run, revision, snapshot: store.current, answer };
}

/** Noted in the audit log before anything is touched. */
async function runAct(call: Call<Act<unknown>>): Promise<Outcome> {
  const { services, request, run, command } = call;
  const snapshot = services.store.current;
  const scope = atOnce(admit(call, snapshot));
  run.nodes = scope.selection.objects?.length ?? 0;
  await auditNow(services, request, 'Allowed');
  services.runs.start(run, scope.selection.nodes);
  const answer = await discreetly(snapshot, scope, () => command.run(snapshot, request.args, scope));
  run.ok = run.nodes;
  run.messages = 'messages' in answer ? answer.messages : undefined;
  if ('notes' in answer && answer.notes?.length) run.notes = answer.notes.map(sentenceWithoutSecrets);
  return { run, revision: snapshot.revision, snapshot, answer };
}

/** Noted in the audit log before anything is touched, as an act is. */
async function runLong(call: Call<AnyLong>): Promise<Outcome> {
  const { services, request, run, command } = call;
  const { args, user, client, range, line, id } = request;
  const { current } = services.store;
  const answer = await beginLong(services, {
    command,
    args,
    run,
    user,
    client,
    range,
    line,
    id,
    admit: (snapshot) => atOnce(admit(call, snapshot)),
    audit: (status) => auditNow(services, request, status),
  });
  return { run, revision: current.revision, snapshot: current, answer };
}

function runPerNode(call: Call<AnyPerNode>): Outcome {
  const { services, request, run, command } = call;
  const snapshot = services.store.current;
  const scope = atOnce(admit(call, snapshot));
  const results = perNodeResults(services, command, request.args, snapshot, scope, run, request.detached);
  if (!outlivesClient(request)) {
    const abort = run.abort!;
    // Not AbortSignal.any: asking what that returns whether it is aborted costs more, and every node's work asks often.
    const left = request.signal();
    if (left.aborted) abort.abort(left.reason);
    else left.addEventListener('abort', () => abort.abort(left.reason), { once: true });
  }
  return { run, revision: snapshot.revision, snapshot, answer: { shape: 'stream', ...results } };
}

function outlivesClient({ command, args, detached }: Request): boolean {
  return command.kind === 'per-node' && (detached || (command as AnyPerNode).outlivesClient?.(args) === true);
}

const isNotedFirst = ({ command }: Request): boolean => command.kind === 'per-node' && command.isNotedFirst === true;

const isAhead = ({ store }: DispatchServices, { revision }: Request): boolean =>
  revision !== undefined && revision > store.current.revision;

/** Waits for a revision that this server has not reached yet. */
async function reachRevision({ store }: DispatchServices, { revision, signal }: Request): Promise<void> {
  const newest = await store.reach(revision!, AbortSignal.any([signal(), AbortSignal.timeout(revisionTimeout)]));
  if (newest < revision!)
    throw new Fault('unavailable', `Revision ${revision} is not known here; the newest is ${newest}.`, {
      retryAfter: 1,
    });
}

export const auditRecord = (request: Request, status: string): AuditRecord => ({
  time: Date.now(),
  user: request.user,
  client: request.client,
  command: request.command.name,
  noderange: shortened(request.range),
  args: request.line,
  status: request.note === '' ? status : `${status} (${request.note})`,
  request: request.id,
});

function auditSoon(services: DispatchServices, request: Request, status: string): void {
  if (services.audit) services.store.auditSoon(auditRecord(request, status));
}

/** Refusals and failed writes are on disk before the client hears of them. */
async function auditFailure(services: DispatchServices, request: Request, error: unknown): Promise<void> {
  const status = error instanceof Fault && error.kind === 'denied' ? 'Denied' : 'Failed';
  if (!services.audit) return;
  if (status === 'Denied') await services.refusals.noteKnown(auditRecord(request, status));
  else if (request.command.kind === 'query') auditSoon(services, request, status);
  else await auditNow(services, request, status);
}

async function auditNow(services: DispatchServices, request: Request, status: string): Promise<void> {
  if (services.audit) await services.store.audit(auditRecord(request, status));
}
