import { canonicalAddress } from './addresses.ts';
import { compileRule, isHostName, policyPatterns, type PolicyRow, type Rule } from './policy-rule.ts';

export type { PolicyRow, Rule } from './policy-rule.ts';

export interface PolicyRequest {
  /** Undefined or empty for an anonymous caller, who is always refused. */
  user: string | undefined;
  /** The peer's address and its forward-confirmed names, in lower case. */
  addresses: readonly string[];
  command: string;
  /** The arguments joined by blanks, as the reference system writes them. */
  line: string;
  /** Undefined for a request that is not about nodes. */
  nodes: readonly string[] | undefined;
  /** It is about every node as a whole: a rule that refuses some counts, one that permits some does not. */
  every?: boolean | undefined;
  now: Date;
  /** Which of the refused nodes the caller learns of, if any; absent: the first. */
  pick?(refused: readonly string[]): string | undefined;
  /** Why a rule that would permit does not count for this request; rules that refuse always count. */
  objection?(rule: Rule): string | undefined;
}

export interface Decision {
  allowed: boolean;
  /** The first node refused, or the one that the request picks, if it has nodes. */
  node?: string;
  /** The rule that decided; absent if none matched. */
  priority?: string;
  /** Not a rule refuses it, but what the token is limited to. */
  byToken?: boolean;
}

/** The groups that an account is in, as `groupName` writes them. */
export type GroupsOf = (user: string) => readonly string[];

type ExpandRange = (range: string) => ReadonlySet<string>;

/** What one rule had to say on the way to a decision. */
interface Step {
  priority: string;
  /** The group of the asker that it is for, if it is for one. */
  group: string | undefined;
  says: string;
}

/** Hears of every rule that was looked at. */
type Note = (rule: Rule, says: string) => void;
const unheard: Note = () => undefined;

/** The rules, for accounts whose groups are known. */
export interface CompiledPolicy {
  for(groupsOf: GroupsOf): Policy;
}

export interface Policy {
  decide(request: PolicyRequest, expandRange: ExpandRange): Decision;
  /** The decision with all that led to it; rules for other users and commands are left out. */
  explain(request: PolicyRequest, expandRange: ExpandRange): Decision & { steps: readonly Step[] };
  /** Whether some rule could permit the command to the user from there and now, whatever it is asked of. */
  couldAllow(request: Omit<PolicyRequest, 'line' | 'nodes'>): boolean;
  /** Says of one node, or what may be one, whether the command is allowed on it, with this line or a longer one. */
  allowedOn(request: Omit<PolicyRequest, 'nodes'>, expandRange: ExpandRange): (node: string) => boolean;
  /** The node ranges of all rules, those of other users too. */
  readonly ranges: readonly string[];
  /** Whether the command is allowed to the user whatever else the request says. */
  alwaysAllows(user: string, command: string): boolean;
  /** Whether some rule needs the names of the peer and not only its address. */
  readonly needsHostNames: boolean;
  /** Whether nodes or argument line can make a difference; if not, they need not be worked out. */
  dependsOn(user: string | undefined, command: string): { nodes: boolean; line: boolean };
  /** The same for argument lines that no rule for the user and command distinguishes by its parameters. */
  lineClass(user: string, command: string, line: string): string;
  /** Whether the user may do everything, always and from everywhere. */
  fullRights(user: string): boolean;
}

/** The rules that can decide for one user and command, up to the first that decides without a look at the request. */
interface Plan {
  rules: readonly Rule[];
  /** Also those that come after it, for requests for which not all count. */
  all: readonly Rule[];
  nodes: boolean;
  line: boolean;
  /** Set if the first rule permits unconditionally. */
  permitted: Decision | undefined;
}

/** Commands on tables and what administrators call them; rules may use either name. */
const tableCommands: Readonly<Record<string, string>> = {
  getAttribs: 'tabdump',
  getTablesAllNodeAttribs: 'tabdump',
  getTablesAllRowAttribs: 'tabdump',
  getTablesNodesAttribs: 'tabdump',
  delEntries: 'tabch',
  setAttribs: 'tabch',
  setNodesAttribs: 'tabch',
};

/** What rules may name besides the commands themselves. */
export const tableCommandNames: ReadonlySet<string> = new Set(Object.values(tableCommands));

const maximumPlans = 10_000;

/** Who asks: the account, and the groups it is in. */
interface Asker {
  readonly user: string;
  readonly groups: readonly string[];
}

/** Decides as a fixed set of rows says; the rule with the smallest priority that matches wins. */
export function compilePolicy(rows: Iterable<PolicyRow>): CompiledPolicy {
  const sorted = [...rows].sort((a, b) => comparePriority(a.priority, b.priority));
  const patterns = policyPatterns();
  const rules = sorted.map((row) => compileRule(row, patterns)).filter((rule) => rule !== undefined);
  const named = new Set(rules.flatMap(({ group }) => group ?? []));
  /**
   * By user and groups, then by command: every request asks several times, and a key made of all would have to be hashed each time. Only
   * groups that rules name make a difference.
   */
  const plans = new Map<string, Map<string, Plan>>();
  let kept = 0;

  function planFor(asker: Asker, command: string): Plan {
    const who = asker.groups.length === 0 ? asker.user : `${asker.user}\0${asker.groups.join()}`;
    const known = plans.get(who)?.get(command);
    if (known) return known;
    if (++kept > maximumPlans) {
      plans.clear();
      kept = 1;
    }
    const plan = makePlan(rules, asker, command);
    const ofUser = plans.get(who) ?? new Map<string, Plan>();
    plans.set(who, ofUser.set(command, plan));
    return plan;
  }

  const needsHostNames = rules.some((rule) => rule.host !== undefined && isHostName(rule.host));
  const ranges = [...new Set(rules.flatMap(({ range }) => range ?? []))];
  return {
    for(groupsOf) {
      const askers = new Map<string, Asker>();
      const askerOf = (user: string): Asker => {
        let asker = askers.get(user);
        if (!asker) {
          if (askers.size >= maximumPlans) askers.clear();
          const groups = named.size === 0 ? [] : groupsOf(user).filter((group) => named.has(group));
          askers.set(user, (asker = { user, groups }));
        }
        return asker;
      };
      return policyFor({
        rules,
        needsHostNames,
        ranges,
        askerOf,
        planFor: (user, command) => planFor(askerOf(user), command),
      });
    },
  };
}

interface PolicyParts extends Pick<Policy, 'needsHostNames' | 'ranges'> {
  readonly rules: readonly Rule[];
  askerOf(user: string): Asker;
  planFor(user: string, command: string): Plan;
}

function policyFor({ rules, needsHostNames, ranges, askerOf, planFor }: PolicyParts): Policy {
  const evaluateFor = (request: PolicyRequest, user: string, expandRange: ExpandRange, note: Note): Decision => {
    const plan = planFor(user, request.command);
    return evaluate(request.objection ? plan.all : plan.rules, request, expandRange, note);
  };

  return {
    needsHostNames,
    ranges,
    decide(request, expandRange) {
      const { user, command, objection } = request;
      if (!user) return { allowed: false };
      const { permitted } = planFor(user, command);
      return permitted && !objection ? permitted : evaluateFor(request, user, expandRange, unheard);
    },
    explain(request, expandRange) {
      const steps: Step[] = [];
      if (!request.user) return { allowed: false, steps };
      const note: Note = ({ priority, group }, says) => steps.push({ priority, group, says });
      return { ...evaluateFor(request, request.user, expandRange, note), steps };
    },
    couldAllow({ user, command, addresses, now }) {
      if (!user) return false;
      const met = planFor(user, command).rules.filter((rule) => unmetCondition(rule, addresses, now) === undefined);
      // One that refuses whatever it is asked of leaves nothing to those after it.
      const last = met.find(({ permits, line, range }) => permits || (line === undefined && range === undefined));
      return last?.permits === true;
    },
    allowedOn(request, expandRange) {
      const { user, command } = request;
      if (!user) return () => false;
      const plan = planFor(user, command);
      return plan.permitted ? () => true : judgeOf(plan.rules, request, expandRange);
    },
    alwaysAllows: (user, command) => user !== '' && planFor(user, command).permitted !== undefined,
    dependsOn(user, command) {
      if (!user) return { nodes: false, line: false };
      const { nodes, line } = planFor(user, command);
      return { nodes, line };
    },
    lineClass: (user, command, line) =>
      planFor(user, command)
        .all.flatMap((rule) => (rule.line ? Number(rule.line.test(line)) : []))
        .join(''),
    fullRights(user) {
      for (const rule of rules) {
        if (!isFor(rule, askerOf(user))) continue;
        if (!rule.permits) return false;
        if (rule.commands === undefined && isUnconditional(rule)) return true;
      }
      return false;
    },
  };
}

/** Whether the rule is for this account, or for a group that it is in. */
const isFor = ({ user, group }: Rule, asker: Asker): boolean =>
  (user === undefined || user === asker.user) && (group === undefined || asker.groups.includes(group));

/** Whether the rule, once user and command fit, looks at nothing else. */
function isUnconditional(rule: Rule): boolean {
  return rule.host === undefined && rule.line === undefined && rule.time === undefined && rule.range === undefined;
}

function makePlan(rules: readonly Rule[], asker: Asker, command: string): Plan {
  const alias = tableCommands[command];
  const all = rules.filter(
    (rule) =>
      isFor(rule, asker) &&
      (rule.commands === undefined || rule.commands.has(command) || (alias !== undefined && rule.commands.has(alias))),
  );
  const last = all.findIndex(isUnconditional);
  const chosen = last < 0 ? all : all.slice(0, last + 1);
  const first = chosen[0];
  return {
    rules: chosen,
    all,
    nodes: chosen.some((rule) => rule.range !== undefined),
    line: chosen.some((rule) => rule.line !== undefined),
    permitted:
      first?.permits && isUnconditional(first) ? Object.freeze({ allowed: true, priority: first.priority }) : undefined,
  };
}

function evaluate(rules: readonly Rule[], request: PolicyRequest, expandRange: ExpandRange, note: Note): Decision {
  let nodes = request.nodes ?? [];
  for (const rule of rules) {
    const passedOver = whyPassedOver(rule, request, nodes);
    if (passedOver !== undefined) {
      note(rule, passedOver);
      continue;
    }
    if (rule.range !== undefined) {
      const members = tryExpand(rule.range, expandRange);
      if (rule.permits) {
        const rest = members ? nodes.filter((node) => !members.has(node)) : nodes;
        if (rest.length > 0) {
          note(rule, `allows it on ${nodes.length - rest.length} of ${nodes.length} nodes, those in "${rule.range}"`);
          nodes = rest;
          continue;
        }
      } else if (members) {
        const hits = request.every ? [...members] : nodes.filter((node) => members.has(node));
        if (hits.length === 0) {
          note(rule, `refuses it on nodes in "${rule.range}", and none of these is there`);
          continue;
        }
        note(rule, `refuses it on ${hits[0]}`);
        return refuse(hits, rule.priority, request);
      }
    }
    note(rule, rule.permits ? 'allows it' : 'refuses it');
    return rule.permits ? { allowed: true, priority: rule.priority } : refuse(nodes, rule.priority, request);
  }
  return refuse(nodes, undefined, request);
}

/** Why the rule says nothing about the request; undefined if it does. */
function whyPassedOver(rule: Rule, request: PolicyRequest, nodes: readonly string[]): string | undefined {
  const unmet = unmetCondition(rule, request.addresses, request.now);
  if (unmet !== undefined) return unmet;
  if (rule.line !== undefined && !rule.line.test(request.line)) return 'has parameters that do not match the line';
  const objection = rule.permits ? request.objection?.(rule) : undefined;
  if (objection !== undefined) return `would allow it, but ${objection}`;
  if (rule.range === undefined) return undefined;
  if (request.every)
    return rule.permits ? `is for nodes in "${rule.range}", and the request is about every node` : undefined;
  if (nodes.length === 0) return `is for nodes in "${rule.range}", and the request is about none`;
  return undefined;
}

function unmetCondition(rule: Rule, addresses: readonly string[], now: Date): string | undefined {
  if (rule.host !== undefined && !addresses.some((address) => canonicalAddress(address) === rule.host))
    return `is for requests from ${rule.host}`;
  return rule.time !== undefined && !rule.time(now) ? 'is for other times' : undefined;
}

/** As evaluating each node by itself would say. */
function judgeOf(
  rules: readonly Rule[],
  request: Omit<PolicyRequest, 'nodes'>,
  expandRange: ExpandRange,
): (node: string) => boolean {
  const steps = rules.flatMap((rule) => {
    if (unmetCondition(rule, request.addresses, request.now) !== undefined) return [];
    // The line stands for many requests: what would be refused in one of them is not allowed.
    if (rule.permits && rule.line !== undefined && !rule.line.test(request.line)) return [];
    const { range, permits } = rule;
    const members = range === undefined ? undefined : tryExpand(range, expandRange);
    // A range that cannot be expanded covers no node for a rule that permits, and every one for a rule that refuses.
    return { permits, covers: (node: string) => members?.has(node) ?? (range === undefined || !permits) };
  });
  return (node) => steps.find(({ covers }) => covers(node))?.permits === true;
}

/** Undefined if the range cannot be expanded: then a rule that permits covers no node and one that refuses every node. */
function tryExpand(range: string, expandRange: ExpandRange): ReadonlySet<string> | undefined {
  try {
    return expandRange(range);
  } catch {
    return undefined;
  }
}

function refuse(nodes: readonly string[], priority: string | undefined, { pick }: PolicyRequest): Decision {
  const node = pick ? pick(nodes) : nodes[0];
  return { allowed: false, ...(node !== undefined && { node }), ...(priority !== undefined && { priority }) };
}

/** A priority is a dotted number: `1`, `4.9`, `1.10`. */
export function isPriority(text: string): boolean {
  return /^\d+(\.\d+)*$/.test(text);
}

/** As numbers, then as text: 9 before 10, 1.10 (which is 1.1) before 1.9, and 1.1 before 1.10. */
export function comparePriority(a: string, b: string): number {
  const first = Number.parseFloat(a) || 0;
  const second = Number.parseFloat(b) || 0;
  if (first !== second) return first - second;
  return a < b ? -1 : a > b ? 1 : 0;
}
