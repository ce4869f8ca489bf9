import type { Answer, Change, Question } from '../commands/command.ts';
import { inSlices, type Interruptible } from '../core/slices.ts';
import type { RowChange } from '../database/changeset.ts';
import { Draft } from '../database/draft.ts';
import type { Snapshot } from '../database/snapshot.ts';
import { contestedBy, keepClaims, notesOfClaims } from '../objects/kept-claims.ts';
import { macOfNoMachine, notesOn } from '../objects/notes.ts';
import { checkPatterns } from '../objects/pattern-check.ts';
import { policyOf } from '../objects/policy.ts';
import { sentenceWithoutSecrets } from '../objects/secret-names.ts';
import { type Admitted, admit, type Call, redactedFault, usedServices } from './admit.ts';
import { auditRecord } from './audit.ts';
import { checkConsequences, checkStillGoverned } from './consequences.ts';
import { nothingDone } from './nothing-done.ts';
import { checkCouldBeAllowed } from './permission.ts';
import type { Outcome } from './request.ts';
import { checkStillKnown } from './still-known.ts';

/** Plans a change set, and commits it unless it is only tried. */
export async function runChange(call: Call<Change<unknown>>): Promise<Outcome> {
  const { services, run, command } = call;
  const request = await prepared(call);
  let answer: Answer = { shape: 'none' };
  const compute = planned({ ...call, request }, function* (draft, scope) {
    const plan = command.plan(draft, request.args, scope);
    answer = 'shape' in plan ? plan : yield* plan;
    run.nodes = run.ok = (scope.selection.objects?.length ?? 0) + (scope.selection.missing?.length ?? 0);
    return ('notes' in answer && answer.notes) || [];
  });
  if (request.dryRun) {
    const { head } = services.store;
    const changes = await inSlices(compute(head));
    return { run, revision: head.revision, snapshot: head, answer: { shape: 'dry-run', changes, nodes: run.nodes } };
  }
  const revision = await commit(call, compute, command.reverts?.(call.request.args));
  run.messages = 'messages' in answer ? answer.messages : undefined;
  return { run, revision, snapshot: services.store.current, answer };
}

/** The request with what slow work has made of its arguments. */
async function prepared({ services, request, command, permission }: Call<Change<unknown>>): Promise<Call['request']> {
  if (!command.prepare) return request;
  const { current } = services.store;
  if (!command.free) checkCouldBeAllowed(current, permission);
  const isLimited = !policyOf(current, request.scope).alwaysAllows(request.user, command.name);
  return { ...request, args: await command.prepare(request.args, usedServices(services, command), isLimited) };
}

export type Compute = (head: Snapshot) => Interruptible<RowChange[]>;

/** What computes the change set of a request in any state: admits it there, plans it, and checks all that comes of it. `plan` returns notes. */
export function planned(
  call: Call,
  plan: (draft: Draft, scope: Admitted) => Interruptible<readonly string[]>,
): Compute {
  const { services, request, run, command, permission } = call;
  return function* (head) {
    checkStillKnown(head, request);
    const scope = yield* admit(call, head);
    const draft = new Draft(head, services.seal);
    const after = (): Snapshot => draft.snapshot();
    let own: readonly string[];
    try {
      own = yield* plan(draft, scope);
    } catch (error) {
      throw redactedFault([head], command, permission, error);
    }
    const changes = draft.changes();
    yield;
    // All that comes of it must be allowed to each command whose work it does.
    const others = command.also?.(request.args) ?? [];
    for (const name of command.free ? [] : [command.name, ...others]) {
      const isOwn = (question: Question): boolean => (question.command ?? command.name) === name;
      const questions = others.length > 0 ? scope.questions.filter(isOwn) : scope.questions;
      const asked = name === permission.command ? permission : { ...permission, command: name };
      yield* checkConsequences(head, after, changes, asked, questions, 'decides' in command ? command.decides : []);
    }
    checkStillGoverned(changes, after);
    yield* checkPatterns(changes, after);
    if (changes.length > 0) {
      const { sees } = scope.ranges;
      const circumstances = { before: head, after, drivers: services.hardware.kinds, sees };
      const contested = yield* contestedBy(changes, after);
      keepClaims(draft, contested);
      const claims = notesOfClaims(contested, sees);
      run.isContested = claims.length > 0 || changes.some((change) => macOfNoMachine(change) !== undefined);
      const notes = [...own, ...claims, ...(yield* notesOn(changes, circumstances))];
      if (notes.length > 0) run.notes = notes.map(sentenceWithoutSecrets);
      // What follows from the change itself needs no right of its own.
      if (contested.length > 0) return draft.changes();
    }
    return changes;
  };
}

/** Commits it together with its audit record, and returns the revision. */
export function commit({ services, request, run, command }: Call, compute: Compute, reverts?: number): Promise<number> {
  const origin = { user: request.user, client: request.client, command: command.name, run: run.id, reverts };
  const record = services.audit ? auditRecord(request, 'Allowed') : undefined;
  return services.store.commit(origin, compute, record).catch(nothingDone);
}
