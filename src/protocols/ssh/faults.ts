import { Fault, Unreachable } from '../../core/errors.ts';
import { hostAndPort, type Target } from './target.ts';

/** Why work was ended from outside. */
export { cancelled as abortFault } from '../../core/waiting.ts';

export function closedFault(): Fault {
  return new Fault('unavailable', 'muster is shutting down; try again shortly.');
}

export function commandTimeoutFault(milliseconds: number): Fault {
  return new Fault('deadline', `the command did not end within ${milliseconds / 1_000} s and was stopped.`);
}

/** Whoever gives the input or takes the output has failed, not the node. */
export function passingFault(error: unknown): Fault {
  if (error instanceof Fault) return error;
  const { message } = error as Error;
  return new Fault('unavailable', `input or output of the command could not be passed on: ${message}`, {
    cause: error,
  });
}

export function unstartedFault(error: Error): Fault {
  return new Fault('unavailable', `the ssh program cannot be run: ${error.message}.`, { cause: error });
}

export function connectTimeoutFault(target: Target, milliseconds: number): Fault {
  return new Unreachable(`its sshd at ${hostAndPort(target)} did not answer within ${milliseconds / 1_000} s.`, {
    reference: [systemWords['ETIMEDOUT']!],
  });
}

export function talkativeFault(target: Target, bytes: number): Fault {
  return new Fault('garbled', `what answers at ${hostAndPort(target)} sent more than ${bytes} bytes before any login.`);
}

export function lostFault(target: Target, cause?: unknown): Fault {
  return new Fault('invalid', `the connection to its sshd at ${hostAndPort(target)} was lost.`, { cause });
}

export function loginFault(target: Target): Fault {
  const how =
    target.password === undefined
      ? "with muster's key; the line of GET /services/sshkey must be in the user's .ssh/authorized_keys there."
      : 'with the password given.';
  return new Fault('invalid', `its sshd at ${hostAndPort(target)} does not accept user "${target.user}" ${how}`);
}

/** A jump host that failed, reported for the node behind it. */
export function throughFault(jump: Target, error: unknown): Fault {
  const fault = asFault(jump, error);
  const sentences = fault.sentences.map((sentence) => `it is reached through ${jump.name}, and there: ${sentence}`);
  return fault instanceof Unreachable
    ? new Unreachable(sentences.join(' '), { cause: fault })
    : new Fault(fault.kind, sentences, { cause: fault });
}

const unreachable: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'refused the connection',
  EHOSTUNREACH: 'cannot be reached',
  ENETUNREACH: 'cannot be reached',
  ETIMEDOUT: 'did not answer',
  EHOSTDOWN: 'is down',
};

/** As the C library, and so the ssh program, words them. */
const systemWords: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'Connection refused',
  EHOSTUNREACH: 'No route to host',
  ENETUNREACH: 'Network is unreachable',
  ETIMEDOUT: 'Connection timed out',
  EHOSTDOWN: 'Host is down',
};

/** The Fault for what went wrong while a connection was opened or used. */
export function asFault(target: Target, error: unknown): Fault {
  if (error instanceof Fault) return error;
  const {
    code = '',
    level = '',
    message = '',
  }: Partial<NodeJS.ErrnoException & { level: string }> = error instanceof Error ? error : {};
  const where = hostAndPort(target);
  const said = unreachable[code];
  if (said !== undefined)
    return new Unreachable(`its sshd at ${where} ${said}.`, { cause: error, reference: [systemWords[code]!] });
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') {
    return new Unreachable(`the name ${target.address} has no known IP address.`, { cause: error });
  }
  if (level === 'client-authentication') return loginFault(target);
  if (level === 'handshake' || level === 'protocol') {
    return new Fault('garbled', `what answers at ${where} speaks no SSH that muster can use: ${message}.`, {
      cause: error,
    });
  }
  return lostFault(target, error);
}
