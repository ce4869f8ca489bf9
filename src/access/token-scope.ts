import { cachedBy } from '../core/cache.ts';
import type { Row } from '../database/tables.ts';
import { compilePolicy, type Policy, type PolicyRequest, type Rule } from './policy.ts';

/** What a token is limited to: some commands, some nodes, or both. It never grants anything. */
export interface TokenScope {
  /** What people call the token by. */
  readonly id: string;
  readonly commands?: string | undefined;
  readonly noderange?: string | undefined;
}

/** What a token that is no secret is called by: the beginning of its hash. */
export const publicId = (tokenid: string): string => tokenid.slice(0, 16);
/** Whoever confuses the two gives a token where its id belongs, and that must not be repeated. */
export const isPublicId = (text: string): boolean => /^[0-9a-f]{16}$/.test(text);

/** The limits of a token; undefined: it may do what its account may. A row is one for as long as it is unchanged, and so are its limits. */
export const scopeOf = (row: Row): TokenScope | undefined =>
  row['commands'] || row['noderange'] ? limitsIn(row) : undefined;

const limitsIn = cachedBy(({ tokenid = '', commands, noderange }: Row): TokenScope => {
  return { id: publicId(tokenid), commands, noderange };
});

/** The limits as a rule that allows: what rules with a noderange do not cover, such a token does not do either. */
const policyOfScope = cachedBy(({ commands = '', noderange = '' }: TokenScope) =>
  compilePolicy([{ priority: '', commands, noderange, rule: 'allow' }]).for(() => []),
);

const limited = new WeakMap<Policy, WeakMap<TokenScope, Policy>>();

/** The policy for requests that come with a token: what that is limited to, and the rules, must both allow it. */
export function within(policy: Policy, scope: TokenScope | undefined): Policy {
  if (scope === undefined) return policy;
  const ofPolicy = limited.get(policy) ?? new WeakMap<TokenScope, Policy>();
  limited.set(policy, ofPolicy);
  let both = ofPolicy.get(scope);
  if (!both) ofPolicy.set(scope, (both = combined(policy, policyOfScope(scope))));
  return both;
}

function combined(policy: Policy, limits: Policy): Policy {
  return {
    needsHostNames: policy.needsHostNames,
    ranges: [...new Set([...policy.ranges, ...limits.ranges])],
    decide(request, expand) {
      const decision = limits.decide(asLimit(request), expand);
      return decision.allowed ? policy.decide(request, expand) : { ...decision, byToken: true };
    },
    explain: (request, expand) => {
      const { steps, ...decision } = policy.explain(request, expand);
      const limit = limits.decide(asLimit(request), expand);
      return { ...(limit.allowed ? decision : { ...limit, byToken: true }), steps };
    },
    couldAllow: (request) => limits.couldAllow(request) && policy.couldAllow(request),
    allowedOn(request, expand) {
      const [inside, allowed] = [limits.allowedOn(request, expand), policy.allowedOn(request, expand)];
      return (node) => inside(node) && allowed(node);
    },
    alwaysAllows: (user, command) => limits.alwaysAllows(user, command) && policy.alwaysAllows(user, command),
    dependsOn(user, command) {
      const [limit, rules] = [limits.dependsOn(user, command), policy.dependsOn(user, command)];
      return { nodes: limit.nodes || rules.nodes, line: rules.line };
    },
    lineClass: (user, command, line) => policy.lineClass(user, command, line),
    fullRights: () => false,
  };
}

/** Whoever objects to rules knows by this that it is none. */
function asLimit(request: PolicyRequest): PolicyRequest {
  const { objection } = request;
  return objection ? { ...request, objection: (rule: Rule) => objection({ ...rule, isOfToken: true }) } : request;
}
