import { isIP } from 'node:net';
import { compilePattern, type Pattern, PatternAllowance } from '../core/patterns.ts';
import { canonicalAddress } from './addresses.ts';

/** Whether a moment lies in the rule's time. */
type TimeSpan = (now: Date) => boolean;

const dayNames = ['sunday', 'monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday'];

/** `08:00-18:00`, `Mon-Fri 08:00-18:00`, `Sat,Sun 00:00-24:00`, local time, without the end; over midnight it belongs to its first day. Undefined: unreadable. */
export function parseTimeSpan(text: string): TimeSpan | undefined {
  const match = /^(?:([a-z][a-z, -]*?) +)?(\d{1,2}:\d{2}) *- *(\d{1,2}:\d{2})$/.exec(text.trim().toLowerCase());
  if (!match) return undefined;
  const days = parseDays(match[1]);
  const from = minuteOf(match[2]);
  const to = minuteOf(match[3]);
  if (!days || from === undefined || to === undefined || from === to || from === 24 * 60) return undefined;
  return (now) => {
    const minute = now.getHours() * 60 + now.getMinutes();
    const today = now.getDay();
    if (from < to) return days.has(today) && minute >= from && minute < to;
    return (days.has(today) && minute >= from) || (days.has((today + 6) % 7) && minute < to);
  };
}

function minuteOf(text = ''): number | undefined {
  const [hour = 0, minute = 0] = text.split(':').map(Number);
  const total = hour * 60 + minute;
  return minute < 60 && total <= 24 * 60 ? total : undefined;
}

function parseDays(text: string | undefined): Set<number> | undefined {
  if (text === undefined) return new Set([0, 1, 2, 3, 4, 5, 6]);
  const days = new Set<number>();
  for (const piece of text.split(',')) {
    const ends = piece.split('-').map(dayOf);
    const first = ends[0];
    const last = ends.length === 1 ? first : ends[1];
    if (ends.length > 2 || first === undefined || last === undefined) return undefined;
    for (let day = first; ; day = (day + 1) % 7) {
      days.add(day);
      if (day === last) break;
    }
  }
  return days;
}

function dayOf(text: string): number | undefined {
  const name = text.trim();
  const index = dayNames.findIndex((day) => day === name || day.slice(0, 3) === name);
  return index < 0 ? undefined : index;
}

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
  /** It is for the members of this group, whoever they are. */
  group: string | undefined;
  host: string | undefined;
  commands: ReadonlySet<string> | undefined;
  line: Pattern | undefined;
  time: TimeSpan | undefined;
  range: string | undefined;
  /** It is no rule, but what a token is limited to. */
  isOfToken?: boolean;
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
    ...meant(condition(row.name)),
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

/** What a group is called wherever it is compared: sources of accounts do not all tell small letters from capital ones. */
export const groupName = (text: string): string => text.normalize('NFC').trim().toLowerCase();

/** The name of a rule is one of an account, or `@` and one of a group. */
const meant = (name: string | undefined): Pick<Rule, 'user' | 'group'> =>
  name?.startsWith('@') ? { user: undefined, group: groupName(name.slice(1)) } : { user: name, group: undefined };

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
