import { Fault, Unreachable } from '../../core/errors.ts';
import type { Privilege } from './link.ts';
import { isCrowded, refusesLevel, statuses } from './setup-packets.ts';

/** The sentences of this folder. Each makes sense after "<node>: "; `where` is the address of the BMC. */

const hex = (code: number): string => `${code.toString(16).toUpperCase().padStart(2, '0')}h`;
const timeoutWords = { reference: ['ERROR: timeout'] };
const seconds = (milliseconds: number): string => `${Math.round(milliseconds / 100) / 10} s`;

/**
 * Two kinds of silence, which clients see as different errors. A BMC with which no session comes about cannot be reached: the
 * command failed before it began, like one whose address is wrong (403, and the governor leaves the BMC alone for a while). A
 * BMC that let us in and then falls silent, or does not get done, has let the operation pass its deadline (408). A session from
 * before that has died counts as none, so that a dead BMC gives the same error whether it was used lately or not.
 */
export function silent(where: string, waited: number): Unreachable {
  return new Unreachable(`its BMC at ${where} did not answer within ${seconds(waited)}.`, timeoutWords);
}

export function silentInSession(where: string, waited: number): Fault {
  return new Fault(
    'deadline',
    `its BMC at ${where} stopped answering: no answer within ${seconds(waited)}.`,
    timeoutWords,
  );
}

export function unknownWhetherDone(where: string, waited: number): Fault {
  return new Fault(
    'deadline',
    `its BMC at ${where} did not answer within ${seconds(waited)}; it is unknown whether it carried the command out, and the command was not repeated.`,
    timeoutWords,
  );
}

export function garbledAnswer(where: string): Fault {
  return new Fault('garbled', `what its BMC at ${where} answers is not valid IPMI 2.0.`);
}

export function unreachable(where: string, cause: NodeJS.ErrnoException): Unreachable {
  return new Unreachable(`its BMC at ${where} cannot be reached (${cause.code ?? cause.message}).`, {
    cause,
  });
}

export function unresolved(address: string, cause: NodeJS.ErrnoException): Unreachable {
  return new Unreachable(
    `the address of its BMC, ${address}, has no known IP address (${cause.code ?? cause.message}).`,
    { cause },
  );
}

export function noSocket(cause: NodeJS.ErrnoException): Fault {
  return new Fault('unavailable', `muster could not open a UDP socket for IPMI (${cause.code ?? cause.message}).`, {
    cause,
  });
}

/** The BMC has answered, and does not let this account in with this password. */
export class WrongPassword extends Fault {}

/** `noUser`: it says that it does not know the name; we report both in the same words. */
export function wrongPassword(where: string, user: string, noUser = false): WrongPassword {
  return new WrongPassword('invalid', `the user "${user}" or the password is wrong for its BMC at ${where}.`, {
    reference: [`ERROR: ${noUser ? 'Unauthorized name' : 'Incorrect password provided'}`],
  });
}

export function wrongCheckValue(where: string, user: string): WrongPassword {
  const sentence = `the user "${user}" or the password is wrong for its BMC at ${where}, or its key K_g is.`;
  return new WrongPassword('invalid', sentence, { reference: ['ERROR: Incorrect password provided'] });
}

export function wrongKg(where: string, hasKg: boolean): Fault {
  const known = hasKg ? 'the key K_g given for it is not the right one' : 'it has a key K_g, which must be given too';
  return new Fault('invalid', `the password is right for its BMC at ${where}, but ${known}.`);
}

export function refusedLogin(where: string, user: string, status: number): Fault {
  const refused = `its BMC at ${where} refuses the login`;
  if (status === statuses.unauthorizedName) return wrongPassword(where, user, true);
  if (status === statuses.invalidCheckValue) return wrongCheckValue(where, user);
  if (isCrowded(status)) {
    return new Fault('invalid', `${refused}: all its sessions are taken (${hex(status)}). Try again in a minute.`);
  }
  if (refusesLevel(status)) {
    return new Fault('invalid', `${refused}: the user "${user}" has no privilege over the network (${hex(status)}).`);
  }
  return new Fault('invalid', `${refused} (status ${hex(status)}).`);
}

export function refusedSuites(where: string, status: number, suites: readonly number[]): Fault {
  const what =
    suites.length > 1 ? `any of the IPMI cipher suites ${suites.join(', ')}` : `IPMI cipher suite ${suites[0]}`;
  return new Fault('invalid', `its BMC at ${where} does not accept ${what} (status ${hex(status)}).`);
}

export function missingPrivilege(where: string, user: string, privilege: Privilege, code?: number): Fault {
  const reason = code === undefined ? '' : ` (code ${hex(code)})`;
  return new Fault(
    'invalid',
    `its BMC at ${where} refuses the user "${user}" the privilege level ${privilege} that the command needs${reason}.`,
  );
}

export function cancelled(where: string, signal: AbortSignal): Fault {
  if (signal.reason instanceof Fault) return signal.reason;
  return new Fault('deadline', `the request was ended before its BMC at ${where} answered.`);
}

export function stopping(): Fault {
  return new Fault('unavailable', 'muster is shutting down; try again shortly.');
}

export function requestTooLong(length: number, limit: number): Fault {
  return new Fault('invalid', `an IPMI request with ${length} bytes of data is too long; ${limit} are possible.`);
}

export function consoleLost(why: string): Fault {
  return new Fault('unavailable', `its console over IPMI SOL has ended: ${why}.`);
}
