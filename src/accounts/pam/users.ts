import { execFile } from 'node:child_process';
import { Fault } from '../../core/errors.ts';
import { groupName } from '../../access/policy-rule.ts';
import { foldedName } from '../sources.ts';

/** A user of this machine, as its name service knows it. */
export interface MachineUser {
  /** As the name service writes it. */
  readonly name: string;
  readonly uid: number;
}

const timeout = 5_000;
/** More than all groups of somebody take. */
const mostBytes = 4 << 20;
/** What getent says of names that nobody has. */
const notFound = 2;

/** Undefined: there is no such user. */
export async function machineUser(name: string): Promise<MachineUser | undefined> {
  const line = await ask('getent', ['passwd', name]);
  const [found = '', , uid = ''] = line?.split(':') ?? [];
  // A number is looked up as the number of a user.
  return foldedName(found) === name && /^\d+$/.test(uid) ? { name: found, uid: Number(uid) } : undefined;
}

export async function groupsOfUser({ name }: MachineUser): Promise<string[]> {
  const ids = ((await ask('id', ['-G', name])) ?? '')
    .trim()
    .split(/\s+/)
    .filter((id) => /^\d+$/.test(id));
  if (ids.length === 0) return [];
  const lines = ((await ask('getent', ['group', ...ids])) ?? '').split('\n');
  return lines.flatMap((line) => groupName(line.split(':', 1)[0]!) || []);
}

/**
 * Whether the user's password was locked (usermod -L, passwd -l), as far as muster may see it. PAM says so only to who sends a password.
 * A field without a hash is not locked: such users log in by other means.
 */
export async function isLocked({ name }: MachineUser): Promise<boolean> {
  const [, field = ''] = ((await ask('getent', ['shadow', name])) ?? '').split(':');
  return /^!+[^!*]/.test(field);
}

/** The output of a program; undefined if what it was asked for is not there. */
const ask = (program: string, words: readonly string[]): Promise<string | undefined> =>
  new Promise((resolve, reject) => {
    const options = { timeout, killSignal: 'SIGKILL', maxBuffer: mostBytes } as const;
    execFile(program, [...words], options, (error, stdout) => {
      if (!error || (error.code === notFound && program === 'getent')) resolve(stdout === '' ? undefined : stdout);
      // id says only that there is no such user.
      else if (error.code === 1 && program === 'id') resolve(undefined);
      else
        reject(
          new Fault('unavailable', 'The users of this machine cannot be looked up now; try again in a moment.', {
            retryAfter: 5,
            cause: error,
          }),
        );
    });
  });
