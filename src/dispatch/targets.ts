import type { ActionTarget, Question } from '../commands/command.ts';
import { Fault } from '../core/errors.ts';
import type { Snapshot } from '../database/snapshot.ts';
import { isOwnMaster } from '../machines/index.ts';
import { checkTaken } from './consequences.ts';
import { isAllowed, type Permission } from './permission.ts';

/** A request, as far as its targets depend on it. */
interface Asked {
  readonly permission: Permission;
  readonly nodes: readonly string[];
  readonly questions: readonly Question[];
}

/** Refuses a target that the policy does not let the caller act on. What the caller may see of it makes no difference. */
export function checkTarget(snapshot: Snapshot, asked: Asked, target: ActionTarget): void {
  switch (target.kind) {
    case 'host':
      return checkHost(snapshot, asked, target.name);
    case 'address':
      return checkTaken(snapshot, asked.permission, asked.nodes, target.address, asked.questions);
    case 'master':
      return checkMaster(snapshot, asked, target.name);
  }
}

/** An address or another name may lead to any node: rules for some nodes do not allow it, and one that refuses some nodes refuses it. */
function checkHost(snapshot: Snapshot, { permission }: Asked, name: string): void {
  const isNode = snapshot.get('nodelist', name) !== undefined;
  if (isAllowed(snapshot, permission, isNode ? [name] : undefined)) return;
  const { command } = permission;
  // One sentence for nodes and other names: it does not show which of them exist.
  throw refusal(
    permission,
    `run ${command} with the target "${shown(name)}": this needs a policy rule for ${command} that covers the target as a node, ` +
      'or one without a noderange if it is no node.',
  );
}

/** A master is its maker's. Everybody else needs a rule for all nodes, or one that names it. */
function checkMaster(snapshot: Snapshot, { permission, nodes }: Asked, name: string): void {
  const { user, scope, words, command } = permission;
  // A master is no node: a token that is limited to nodes is not for it, whoever made it.
  if (scope?.noderange === undefined && isOwnMaster(snapshot, name, user)) return;
  const line = words.join(' ');
  const another = words.map((word) => (word === name ? otherName(name) : word)).join(' ');
  const isOpened = isAllowed(snapshot, permission, nodes, ({ range, line: pattern }) =>
    range === undefined || (pattern?.test(line) && !pattern.test(another))
      ? undefined
      : `it is limited to "${range}" and its parameters do not name the master`,
  );
  if (isOpened) return;
  throw refusal(
    permission,
    `use the master "${shown(name)}": this account has not made it, so this needs a policy rule for ${command} without a noderange, ` +
      `or one whose parameters name it, such as "-b ${shown(name)}".`,
  );
}

/** A name of the same length with no character in its place: a pattern that fits this one too means no master in particular. */
const otherName = (name: string): string => name.replaceAll(/./gu, (character) => (character === 'z' ? 'y' : 'z'));

const shown = (name: string): string => name.slice(0, 80);

const refusal = ({ user }: Permission, what: string): Fault => new Fault('denied', `User "${user}" may not ${what}`);
