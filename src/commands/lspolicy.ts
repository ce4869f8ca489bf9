import { Type } from 'typebox';
import { Fault } from '../core/errors.ts';
import { knownAccount } from '../objects/accounts.ts';
import { expandRange } from '../objects/cluster.ts';
import { explain, policyOf, type PolicyQuestion, trustInLine, trustObjection } from '../objects/policy.ts';
import { everyNode, query } from './command.ts';

/** Why the policy would allow something or not, rule by rule. Nothing is done. */
export const lspolicy = query({
  name: 'lspolicy',
  args: Type.Object({
    user: Type.String(),
    command: Type.String(),
    range: Type.Optional(Type.String()),
    line: Type.String(),
    host: Type.Optional(Type.String()),
  }),
  line: ({ user, command }) => ['-u', user, command],
  select: () => everyNode,
  run(snapshot, { user, command, range, line, host }, { ranges }) {
    if (user === '' || command === '')
      throw new Fault('missing-member', 'Say whose rights to show: ?user=NAME&command=COMMAND.');
    const found = range === undefined ? undefined : expandRange(snapshot, range, ranges);
    const nodes = found && [...found.nodes, ...found.missed].sort();
    const addresses = host === undefined ? [] : [host];
    const question: PolicyQuestion = { user, scope: undefined, addresses, command, line, nodes };
    const { allowed, node, priority, steps } = explain(snapshot, question);
    const words = line.split(' ');
    const account = knownAccount(snapshot, user);
    const trust = trustInLine(words).map((names) => ({
      attribute: names[0]!,
      ...explain(snapshot, { ...question, every: nodes === undefined, objection: trustObjection(words, names) }),
    }));
    return {
      shape: 'value',
      value: {
        allowed: allowed && trust.every((one) => one.allowed),
        fullRights: policyOf(snapshot, undefined).fullRights(user),
        ...(account?.source ? { source: account.source, groups: account.groups } : {}),
        ...(priority === undefined ? {} : { rule: priority }),
        ...(node === undefined ? {} : { node }),
        why: whyLines(steps, allowed, priority),
        trust: Object.fromEntries(
          trust.map((one) => [
            one.attribute,
            { allowed: one.allowed, why: whyLines(one.steps, one.allowed, one.priority) },
          ]),
        ),
      },
    };
  },
});

function whyLines(
  steps: readonly { priority: string; group: string | undefined; says: string }[],
  allowed: boolean,
  decided: string | undefined,
): string[] {
  const lines = steps.map(
    ({ priority, group, says }) =>
      `Rule ${priority}${group === undefined ? '' : `, which is for the group ${group},`} ${says}.`,
  );
  return allowed || decided !== undefined ? lines : [...lines, 'No other rule allows it.'];
}
