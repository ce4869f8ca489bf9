import type { Rule } from '../../access/policy.ts';
import { Fault } from '../../core/errors.ts';
import type { Snapshot } from '../../database/snapshot.ts';
import { listItems, siteValue } from '../../objects/effective.ts';
import { decide } from '../../objects/policy.ts';

export interface Asking {
  readonly user: string;
  readonly addresses: readonly string[];
  readonly command: string;
  readonly nodes: readonly string[];
  hasFullRights(): boolean;
}

/** A name that no rule means. */
const somebody = 'nobody.at.all';

/**
 * The user that the caller acts as on nodes: `wanted`, else what the site attribute `remoteusers` (`alice:root,*:guest`) says, else
 * the caller. To be somebody else, or oneself where the site says otherwise, needs full rights or a rule whose parameters say so.
 * `lineAs` is the argument line with the given user in it, or with none.
 */
export function actingUser(
  snapshot: Snapshot,
  asking: Asking,
  wanted: string | undefined,
  lineAs: (user: string | undefined) => string,
): string {
  const mapped = mappedUser(snapshot, asking.user);
  const user = wanted ?? mapped;
  if ((user === asking.user && user === mapped) || asking.hasFullRights()) return user;
  const variants = [lineAs(undefined), lineAs(somebody)];
  // A rule that speaks of "ro" does not mean "root".
  const shorter = user.length > 1 ? [lineAs(user.slice(0, -1))] : [];
  if (isAllowedByParameters(snapshot, asking, lineAs(user), variants, shorter)) return user;
  const because =
    mapped === asking.user ? '' : `The site attribute remoteusers makes "${asking.user}" act as "${mapped}". `;
  throw new Fault(
    'denied',
    `User "${asking.user}" may not run ${asking.command} as "${user}" on nodes. ${because}It needs a policy rule whose ` +
      `parameters allow it, such as "-l ${user}".`,
  );
}

function mappedUser(snapshot: Snapshot, user: string): string {
  const pairs = new Map(
    listItems(siteValue(snapshot, 'remoteusers') ?? '').map((pair): [string, string] => {
      const mark = pair.lastIndexOf(':');
      const [of, as] = [pair.slice(0, Math.max(0, mark)).trim(), pair.slice(mark + 1).trim()];
      // To go on without it could make the caller more than was meant.
      if (of === '' || as === '') {
        throw new Fault(
          'invalid',
          `The site attribute remoteusers has the item "${pair}"; it must be like "alice:root".`,
        );
      }
      return [of, as];
    }),
  );
  return pairs.get(user) ?? pairs.get('*') ?? user;
}

/**
 * Whether the policy allows the line by a rule whose parameters care: one that would not match some variant of it, which lacks what
 * is out of the ordinary or has something else there. So neither a rule for the command as such counts, nor one whose pattern
 * happens to fit because of another part of the line, nor one that means nobody in general and fits one of the `others` as well.
 */
export function isAllowedByParameters(
  snapshot: Snapshot,
  { user, addresses, command, nodes }: Asking,
  line: string,
  variants: readonly string[],
  others: readonly string[] = [],
): boolean {
  const objection = ({ line: pattern }: Rule): string | undefined => {
    const fits = (text: string): boolean => pattern?.test(text) === true;
    const bySlip = others.some(fits) && !variants.some(fits);
    const cares = fits(line) && !variants.every(fits) && !bySlip;
    return cares ? undefined : 'its parameters do not speak of it';
  };
  return decide(snapshot, { user, addresses, command, line, nodes, objection }).allowed;
}
