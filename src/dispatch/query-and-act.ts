import type { Act, Answer, Query } from '../commands/command.ts';
import { Fault } from '../core/errors.ts';
import { atOnce, inSlices } from '../core/slices.ts';
import type { Snapshot } from '../database/snapshot.ts';
import { revisionOf } from '../objects/moments.ts';
import { sentenceWithoutSecrets } from '../objects/secret-names.ts';
import { type Admitted, admit, type Call, judgeOf, type Judges } from './admit.ts';
import { auditNow } from './audit.ts';
import { atDaemon } from './daemon-commands.ts';
import { nothingDone } from './nothing-done.ts';
import { checkCouldBeAllowed } from './permission.ts';
import { redacted } from './redacted.ts';
import type { Outcome } from './request.ts';

export function runQuery(call: Call<Query<unknown>>): Outcome | Promise<Outcome> {
  const { current } = call.services.store;
  return call.request.at === undefined ? answered(call, current, [current]) : runPast(call, current, call.request.at);
}

/** As it was: what is asked for is looked up there, who may see it is decided by today's rules, of the nodes as they are and as they were. */
async function runPast(call: Call<Query<unknown>>, current: Snapshot, at: string): Promise<Outcome> {
  const { services, request, command, permission } = call;
  if (!command.showsPast?.(request.args))
    throw new Fault(
      'invalid',
      `${command.name} cannot show how this was: only definitions and tables are in the journal.`,
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
    const made = atDaemon(call, snapshot) ?? command.run(snapshot, request.args, scope);
    return made instanceof Promise ? made.then(outcome) : outcome(made);
  };
  const admitted = inSlices(admit(call, snapshot, judges));
  return admitted instanceof Promise ? admitted.then(answer) : answer(admitted);
}

/** Noted in the audit log before anything is touched. */
export async function runAct(call: Call<Act<unknown>>): Promise<Outcome> {
  const { services, request, run, command } = call;
  const snapshot = services.store.current;
  const scope = atOnce(admit(call, snapshot));
  run.nodes = scope.selection.objects?.length ?? 0;
  await auditNow(services, request, 'Allowed').catch(nothingDone);
  services.runs.start(run, scope.selection.nodes);
  const answer = await (atDaemon(call, snapshot) ??
    redacted(snapshot, scope, () => command.run(snapshot, request.args, scope)));
  run.ok = run.nodes;
  run.messages = 'messages' in answer ? answer.messages : undefined;
  if ('notes' in answer && answer.notes?.length) run.notes = answer.notes.map(sentenceWithoutSecrets);
  return { run, revision: snapshot.revision, snapshot, answer };
}
