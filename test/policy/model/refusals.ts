import type { Reply } from '../../harness/client.ts';
import { askedBy, type Request, type Wrong } from './request.ts';
import { type Asked, account, mayAtAll, mayDecideTrust, mayEverywhere, mayOn, mayRun, type Policy } from './rules.ts';
import { nodesIn } from './state.ts';
import { ambiguousName, masters } from './world.ts';

/** What a request needs a right to; all of it must be the account's. */
export type Need =
  /** Every one of these nodes. */
  | { readonly kind: 'nodes'; readonly names: readonly string[] }
  /** What belongs to no node, such as an image. */
  | { readonly kind: 'cluster' }
  /** All nodes as a whole. */
  | { readonly kind: 'everything' }
  /** Something of which rules for some nodes show a part. */
  | { readonly kind: 'part' }
  /** A machine that work is sent to, be it a node or not. */
  | { readonly kind: 'target'; readonly name: string }
  /** Disks of somebody. */
  | { readonly kind: 'master'; readonly name: string; readonly nodes: readonly string[] };

/** Undefined: it depends on what is not modelled. */
function holds(policy: Policy, asked: Asked, need: Need): boolean | undefined {
  const { world } = policy;
  const isNode = (name: string): boolean => nodesIn(world).includes(name);
  switch (need.kind) {
    case 'nodes':
      if (!need.names.every((name) => isNode(name) && name !== ambiguousName)) return undefined;
      return need.names.every((node) => mayOn(policy, asked, node));
    case 'cluster':
      return mayAtAll(policy, asked);
    case 'everything':
      return mayEverywhere(policy, asked);
    case 'part':
      return mayRun(policy, asked.command);
    case 'target':
      return (isNode(need.name) && mayOn(policy, asked, need.name)) || mayAtAll(policy, asked);
    case 'master': {
      const originator = masters[need.name];
      if (originator === undefined) return undefined;
      const isOwn = originator === account && policy.limit?.range === undefined;
      return isOwn || need.nodes.every((node) => mayDecideTrust(policy, asked, [need.name], node));
    }
  }
}

/** The policy has refused it: the same kind of error at both roots, which answer it with another status each. */
const isRefused = ({ status, text }: Reply): boolean =>
  (status === 401 || status === 403) && /"errorcode":\s*2\b/.test(text);

/** What was done though the rules refuse it, and what was refused though they allow it. */
export function refusedOutside(policy: Policy, request: Request, reply: Reply): Wrong[] {
  const { needs = [], query } = request;
  // What no path or reply can be is said first, and so is what cannot be tried without doing it.
  if (needs.length === 0 || query['dryRun'] !== undefined || isImpossible(reply)) return [];
  const [asked] = askedBy(request);
  const held = needs.map((need) => holds(policy, asked!, need));
  if (held.includes(undefined) || held.includes(false) === isRefused(reply)) return [];
  const wrong = isRefused(reply) ? 'it was refused, though the rules allow it' : 'it was not refused';
  return [`${wrong}: ${JSON.stringify(needs)}: ${told(reply)}`];
}

const isImpossible = ({ status, text }: Reply): boolean =>
  status === 406 || (status === 404 && /"errorcode":\s*2\b/.test(text));

const told = ({ status, text }: Reply): string => `${status} ${text.slice(0, 500)}`;
