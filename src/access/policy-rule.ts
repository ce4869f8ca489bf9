import { isIP } from 'node:net';
import { compilePattern, type Pattern, PatternAllowance } from '../core/patterns.ts';
import { canonicalAddress } from './addresses.ts';
import { parseTimeSpan, type TimeSpan } from './policy-time.ts';

export interface PolicyRow {
  priority: string;
  name?: string;
  host?: string;
  commands?: string;
  noderange?: string;
  parameters?: string;
  time?: string;
  rule?: string;
  disable?: string;
}

/** A row ready to be evaluated; a condition that is undefined always holds. */
export interface Rule {
  priority: string;
  permits: boolean;
  user: string | undefined;
  host: string | undefined;
  commands: ReadonlySet<string> | undefined;
  line: Pattern | undefined;
  time: TimeSpan | undefined;
  range: string | undefined;
}

/** For the patterns of all rules of a policy. Every line must be judged, so what that costs is not limited. */
export const policyPatterns = (): PatternAllowance =>
  new PatternAllowance({ steps: 100_000, ranges: 500_000, work: Number.POSITIVE_INFINITY });

const permitWords = new Set(['allow', 'accept', 'trusted']);

/** Undefined: it can never decide. A condition that cannot be read makes a rule that permits void, and one that refuses unconditional. */
export function compileRule(row: PolicyRow, patterns = policyPatterns()): Rule | undefined {
  if (isDisabled(row.disable)) return undefined;
  const permits = isPermit(row.rule);
  const parameters = condition(row.parameters);
  const line = parameters === undefined ? undefined : readPattern(parameters, row.priority, patterns);
  const span = condition(row.time);
  const time = span === undefined ? undefined : parseTimeSpan(span);
  if (permits && ((parameters !== undefined && !line) || (span !== undefined && !time))) return undefined;
  const host = condition(row.host);
  return {
    priority: row.priority,
    permits,
    user: condition(row.name),
    host: host === undefined ? undefined : canonicalAddress(host),
    commands: commandNames(condition(row.commands)),
    line,
    time,
    range: condition(row.noderange),
  };
}

export function isHostName(host: string): boolean {
  return isIP(host) === 0;
}

/** Empty and `*` are no condition; blanks alone are one that nothing fulfils. */
function condition(text: string | undefined): string | undefined {
  return text === undefined || text === '' || text.trim() === '*' ? undefined : text;
}

/** The reference system's rule: only these texts leave a row enabled. */
function isDisabled(text: string | undefined): boolean {
  return text !== undefined && !['', '0', 'no'].includes(text.trim().toLowerCase());
}

/** Every word has to permit, so that neither `disallow` nor `not allow` does. */
function isPermit(rule = ''): boolean {
  const words = rule.toLowerCase().match(/[^\s,;]+/g) ?? [];
  return words.length > 0 && words.every((word) => permitWords.has(word));
}

const commandNames = (text: string | undefined): Set<string> | undefined =>
  text === undefined ? undefined : new Set(text.split(',').flatMap((name) => name.trim() || []));

function readPattern(source: string, priority: string, patterns: PatternAllowance): Pattern | undefined {
  try {
    return compilePattern(source, `policy ${priority}, parameters`, patterns);
  } catch {
    return undefined;
  }
}
