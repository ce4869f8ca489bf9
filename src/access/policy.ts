import { canonicalAddress } from './addresses.ts';
import { comparePriority } from './policy-priority.ts';
import { compileRule, isHostName, policyPatterns, type PolicyRow, type Rule } from './policy-rule.ts';

export { comparePriority, isPriority } from './policy-priority.ts';
export type { PolicyRow } from './policy-rule.ts';

export interface PolicyRequest {
  /** Undefined or empty for an anonymous caller, who is always refused. */
  user: string | undefined;
  /** The peer's address and its forward-confirmed names, in lower case. */
  addresses: readonly string[];
  command: string;
  /** Further names that rules may use for the command, such as tabdump for getAttribs. */
  aliases?: readonly string[];
  /** The arguments joined by blanks, as the reference system writes them. */
  line: string;
  /** Undefined for a request that is not about nodes. */
  nodes: readonly string[] | undefined;
  now: Date;
}

export interface Decision {
  allowed: boolean;
  /** The first node refused, if the request has nodes. */
  node?: string;
  /** The rule that decided; absent if none matched. */
  priority?: string;
}

export type ExpandRange = (range: string) => ReadonlySet<string>;

export interface Policy {
  decide(request: PolicyRequest, expandRange: ExpandRange): Decision;
  /** Whether the command is allowed to the user whatever else the request says. */
  alwaysAllows(user: string, command: string, aliases: readonly string[] | undefined): boolean;
  /** Whether some rule needs the names of the peer and not only its address. */
  readonly needsHostNames: boolean;
  /** Whether nodes or argument line can make a difference; if not, they need not be worked out. */
  dependsOn(user: string | undefined, command: string, aliases?: readonly string[]): { nodes: boolean; line: boolean };
  /** Whether the user may do everything, always and from everywhere. */
  fullRights(user: string): boolean;
}

/** The rules that can decide for one user and command, up to the first that decides without a look at the request. */
interface Plan {
  rules: readonly Rule[];
  nodes: boolean;
  line: boolean;
  /** Set if the first rule permits unconditionally. */
  permitted: Decision | undefined;
}

const maximumPlans = 10_000;

/** Decides as a fixed set of rows says; the rule with the smallest priority that matches wins. */
export function compilePolicy(rows: Iterable<PolicyRow>): Policy {
  const sorted = [...rows].sort((a, b) => comparePriority(a.priority, b.priority));
  const patterns = policyPatterns();
  const rules = sorted.map((row) => compileRule(row, patterns)).filter((rule) => rule !== undefined);
  const plans = new Map<string, Plan>();

  function planFor(user: string, command: string, aliases: readonly string[] | undefined): Plan {
    const key = aliases === undefined ? `${command}\0${user}` : `${command},${aliases.join()}\0${user}`;
    let plan = plans.get(key);
    if (!plan) {
      plan = makePlan(rules, user, aliases === undefined ? [command] : [command, ...aliases]);
      if (plans.size >= maximumPlans) plans.clear();
      plans.set(key, plan);
    }
    return plan;
  }

  return {
    needsHostNames: rules.some((rule) => rule.host !== undefined && isHostName(rule.host)),
    decide(request, expandRange) {
      if (!request.user) return { allowed: false };
      const plan = planFor(request.user, request.command, request.aliases);
      return plan.permitted ?? evaluate(plan.rules, request, expandRange);
    },
    alwaysAllows: (user, command, aliases) => user !== '' && planFor(user, command, aliases).permitted !== undefined,
    dependsOn(user, command, aliases) {
      if (!user) return { nodes: false, line: false };
      const { nodes, line } = planFor(user, command, aliases);
      return { nodes, line };
    },
    fullRights(user) {
      for (const rule of rules) {
        if (rule.user !== undefined && rule.user !== user) continue;
        if (!rule.permits) return false;
        if (rule.commands === undefined && isUnconditional(rule)) return true;
      }
      return false;
    },
  };
}

/** Whether the rule, once user and command fit, looks at nothing else. */
function isUnconditional(rule: Rule): boolean {
  return rule.host === undefined && rule.line === undefined && rule.time === undefined && rule.range === undefined;
}

function makePlan(rules: readonly Rule[], user: string, names: readonly string[]): Plan {
  const chosen: Rule[] = [];
  for (const rule of rules) {
    if (rule.user !== undefined && rule.user !== user) continue;
    if (rule.commands !== undefined && !names.some((name) => rule.commands?.has(name))) continue;
    chosen.push(rule);
    if (isUnconditional(rule)) break;
  }
  const first = chosen[0];
  return {
    rules: chosen,
    nodes: chosen.some((rule) => rule.range !== undefined),
    line: chosen.some((rule) => rule.line !== undefined),
    permitted:
      first?.permits && isUnconditional(first) ? Object.freeze({ allowed: true, priority: first.priority }) : undefined,
  };
}

function evaluate(rules: readonly Rule[], request: PolicyRequest, expandRange: ExpandRange): Decision {
  let nodes = request.nodes ?? [];
  for (const rule of rules) {
    if (!conditionsHold(rule, request)) continue;
    if (rule.range !== undefined) {
      // A rule for nodes says nothing about a request without any.
      if (nodes.length === 0) continue;
      const members = tryExpand(rule.range, expandRange);
      if (rule.permits) {
        const rest = members ? nodes.filter((node) => !members.has(node)) : nodes;
        if (rest.length > 0) {
          nodes = rest;
          continue;
        }
      } else if (members) {
        const hit = nodes.find((node) => members.has(node));
        if (hit === undefined) continue;
        return refuse(hit, rule.priority);
      }
    }
    return rule.permits ? { allowed: true, priority: rule.priority } : refuse(nodes[0], rule.priority);
  }
  return refuse(nodes[0], undefined);
}

function conditionsHold(rule: Rule, request: PolicyRequest): boolean {
  if (rule.host !== undefined && !request.addresses.some((address) => canonicalAddress(address) === rule.host))
    return false;
  if (rule.time !== undefined && !rule.time(request.now)) return false;
  return rule.line === undefined || rule.line.test(request.line);
}

/** Undefined if the range cannot be expanded: then a rule that permits covers no node and one that refuses every node. */
function tryExpand(range: string, expandRange: ExpandRange): ReadonlySet<string> | undefined {
  try {
    return expandRange(range);
  } catch {
    return undefined;
  }
}

function refuse(node: string | undefined, priority: string | undefined): Decision {
  return { allowed: false, ...(node !== undefined && { node }), ...(priority !== undefined && { priority }) };
}
