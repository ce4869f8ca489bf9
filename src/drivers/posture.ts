import { Fault, Unreachable } from '../core/errors.ts';
import type { BmcAccount } from './accounts.ts';

/** From well to bad. */
export const postureLevels = ['ok', 'note', 'warning', 'danger'] as const;
export type PostureLevel = (typeof postureLevels)[number];

/** What was looked at, how bad it is, and what to do. */
export interface Finding {
  readonly level: PostureLevel;
  readonly name: string;
  readonly message: string;
}

export interface PostureReport {
  /** Versions by what they are of. */
  readonly firmware: Readonly<Record<string, string>>;
  readonly findings: readonly Finding[];
}

/** How well a BMC is protected and kept, as far as it can be read. Nothing is tried out: no password, no other account. */
export interface Posture {
  read(signal: AbortSignal): Promise<PostureReport>;
}

/** Looks at one thing. */
export interface PostureCheck {
  readonly name: string;
  /** None: there is nothing to say. */
  look(signal: AbortSignal): Promise<readonly Finding[] | Finding>;
}

/** One after another. What a BMC lacks or refuses is unknown; one that no longer answers is a Fault. */
export async function findingsOf(checks: readonly PostureCheck[], signal: AbortSignal): Promise<readonly Finding[]> {
  const findings: Finding[] = [];
  for (const { name, look } of checks) {
    try {
      findings.push(...[await look(signal)].flat());
    } catch (error) {
      const isSilent = error instanceof Unreachable || (error instanceof Fault && error.kind === 'deadline');
      if (!(error instanceof Fault) || signal.aborted || isSilent) throw error;
      findings.push(unknown(name, error.message));
    }
  }
  return findings;
}

export const unknown = (name: string, why: string): Finding => ({ level: 'note', name, message: `Unknown: ${why}` });

/** What makers call the accounts that come with their BMCs, of which many have a password that everybody knows. */
const usualNames = new Set([
  'root',
  'admin',
  'administrator',
  'userid',
  'anonymous',
  'hqadmin',
  'sysadmin',
  'superuser',
]);

/** By name only: no password is tried. Places without a name count if somebody could log in there. */
export function accountFindings(
  accounts: readonly Pick<BmcAccount, 'name' | 'role' | 'enabled'>[],
): readonly Finding[] {
  const name = 'accounts';
  const usable = accounts.filter(({ enabled, role }) => enabled !== false && role !== 'none');
  const findings: Finding[] = [];
  const nameless = usable.filter((account) => account.name === '');
  if (nameless.some(({ enabled }) => enabled === true))
    findings.push({ level: 'danger', name, message: 'An account without a name can log in: disable it.' });
  else if (nameless.length > 0)
    findings.push({ level: 'warning', name, message: 'An account without a name may be able to log in: disable it.' });
  const usual = usable.filter((account) => usualNames.has(account.name.toLowerCase())).map((account) => account.name);
  if (usual.length > 0) {
    const list = usual.slice(0, 10).join(', ');
    const message = `A name that makers give to accounts is in use: ${list}. Make sure that the password is your own, or use other names.`;
    findings.push({ level: 'warning', name, message });
  }
  if (findings.length > 0) return findings;
  return [{ level: 'ok', name, message: 'No account has no name, or one that makers give.' }];
}

const longestSkew = 60;

/** `seconds`: how far the clock of the BMC is ahead of ours. */
export function clockFinding(seconds: number): Finding {
  const name = 'clock';
  const off = Math.abs(Math.round(seconds));
  if (off <= longestSkew) return { level: 'ok', name, message: 'The clock is right.' };
  const size =
    off < 7_200
      ? `${off} seconds`
      : off < 172_800
        ? `${Math.round(off / 3_600)} hours`
        : `${Math.round(off / 86_400)} days`;
  const message = `The clock is ${size} ${seconds > 0 ? 'ahead' : 'behind'}: set it, or give the BMC a time server. Times in its event log are wrong.`;
  return { level: 'warning', name, message };
}

const nearlyFull = 0.9;

export interface LogFill {
  readonly entries: number;
  /** Undefined: the BMC does not say it. */
  readonly room: number | undefined;
  /** Entries were lost already. */
  readonly hasLost?: boolean;
  /** New entries take the place of old ones. */
  readonly wraps?: boolean;
}

export function logFinding({ entries, room, hasLost = false, wraps = false }: LogFill): Finding {
  const name = 'event-log';
  const clear = 'Save it with reventlog, and clear it.';
  if (hasLost) return { level: 'warning', name, message: `The event log is full and has lost entries. ${clear}` };
  if (room === undefined)
    return unknown(name, `its BMC does not report how many entries its event log can have; it has ${entries}.`);
  if (entries < room * nearlyFull) return { level: 'ok', name, message: 'The event log has room.' };
  if (wraps) return { level: 'note', name, message: 'The event log is full; new entries replace the oldest.' };
  return { level: 'warning', name, message: `The event log has ${entries} of ${room} entries. ${clear}` };
}

/** What the machine does when its power comes back. */
export function restoreFinding(policy: 'on' | 'off' | 'last' | undefined): Finding {
  const name = 'power-restore';
  if (policy === undefined)
    return unknown(name, 'its BMC does not report what the machine does after a power failure.');
  if (policy === 'off')
    return {
      level: 'note',
      name,
      message: 'The machine stays off after a power failure until somebody switches it on.',
    };
  const what = policy === 'on' ? 'switches itself on' : 'returns to its last state';
  return { level: 'ok', name, message: `The machine ${what} after a power failure.` };
}
