import type { Rule } from '../../access/policy.ts';
import type { TokenScope } from '../../access/token-scope.ts';
import type { AddressGuard } from '../../core/address-guard.ts';
import { Fault, type FaultData, orFault, Unreachable } from '../../core/errors.ts';
import { ipText, parseIp } from '../../core/ip.ts';
import type { Snapshot } from '../../database/snapshot.ts';
import { listItems } from '../../core/list-items.ts';
import { effectiveReader, siteValue } from '../../objects/effective.ts';
import type { Resolve } from '../../objects/host-names.ts';
import { managementNode } from '../../objects/networks.ts';
import { nodeAttribute } from '../../objects/node-attributes.ts';
import { decide, policyOf } from '../../objects/policy.ts';
import type { Target } from '../../protocols/ssh/target.ts';
import { knownHostKey } from '../ssh-keys.ts';

interface Asking {
  readonly user: string;
  readonly scope: TokenScope | undefined;
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
  // A rule that names "ro" does not mean "root".
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
  { user, scope, addresses, command, nodes }: Asking,
  line: string,
  variants: readonly string[],
  others: readonly string[] = [],
): boolean {
  const objection = ({ line: pattern, isOfToken }: Rule): string | undefined => {
    if (isOfToken) return undefined;
    const fits = (text: string): boolean => pattern?.test(text) === true;
    const bySlip = others.some(fits) && !variants.some(fits);
    const cares = fits(line) && !variants.every(fits) && !bySlip;
    return cares ? undefined : 'its parameters do not name it';
  };
  return decide(snapshot, { user, scope, addresses, command, line, nodes, objection }).allowed;
}

/**
 * Whether the policy lets the caller send files of their own to nodes: a rule without parameters does, one with parameters only if these
 * name such files. A rule for files of the management node would otherwise admit any content under their names.
 */
export function mayBringFiles(
  snapshot: Snapshot,
  { user, scope, addresses, command, nodes, hasFullRights }: Asking,
  line: string,
  ofServer: string,
): boolean {
  if (hasFullRights()) return true;
  const objection = ({ line: pattern }: Rule): string | undefined =>
    pattern !== undefined && pattern.test(ofServer) ? 'its parameters do not name files of the client' : undefined;
  return decide(snapshot, { user, scope, addresses, command, line, nodes, objection }).allowed;
}

/** Whether rules limit by their parameters what the caller may ask of nodes by this command, and so where files may go. */
export const isLimitedByParameters = (snapshot: Snapshot, { user, scope, command, hasFullRights }: Asking): boolean =>
  !hasFullRights() && policyOf(snapshot, scope).dependsOn(user, command).line;

/** A target with what a process without a database has to know of it. */
export interface RemoteTarget extends Target {
  readonly hostKey?: string | undefined;
  readonly jump?: RemoteTarget | undefined;
}

interface TargetOptions {
  readonly snapshot: Snapshot;
  /** Finds addresses of names that no definition gives one. */
  readonly resolve: Resolve;
  readonly guard: AddressGuard;
  readonly port: number;
  readonly user: string;
}

/** Finds where nodes are, and through which service node they are reached. Where none can be found, whoever goes there gets the reason. */
export function remoteTargets({
  snapshot,
  resolve,
  guard,
  port,
  user,
}: TargetOptions): (node: string) => Promise<RemoteTarget | FaultData> {
  const reader = effectiveReader(snapshot);
  const here = managementNode(snapshot);
  /** Service nodes serve many nodes. */
  const jumps = new Map<string, Promise<RemoteTarget>>();
  const addressOf = async (name: string): Promise<string> => {
    const ip = reader.nodeRow(name) && nodeAttribute(reader, name, 'ip');
    if (ip) return ip;
    const itself = parseIp(name);
    if (itself) return ipText(itself);
    const found = await resolve(name);
    if (!found) throw new Unreachable(`no address is known of ${name}; set its ip, or make it known to DNS.`);
    return ipText(found);
  };
  const direct = async (name: string): Promise<RemoteTarget> => {
    const address = await guard.admit(await addressOf(name));
    return { name, address, port, user, hostKey: knownHostKey(snapshot, name) };
  };
  const through = (name: string): Promise<RemoteTarget> => {
    let jump = jumps.get(name);
    if (!jump) jumps.set(name, (jump = direct(name)));
    return jump;
  };
  /** The first of its service nodes, unless that is this machine. */
  const serviceNode = (node: string): string | undefined => {
    const [first] = listItems(nodeAttribute(reader, node, 'servicenode') ?? '');
    return first === undefined || first === node || here.isMeantBy(first) ? undefined : first;
  };
  const wayTo = async (node: string): Promise<RemoteTarget> => {
    const via = serviceNode(node);
    const [target, jump] = await Promise.all([direct(node), via === undefined ? undefined : through(via)]);
    return jump === undefined ? target : { ...target, jump };
  };
  return (node) => orFault(wayTo(node));
}
