import { Fault, Unreachable } from '../../core/errors.ts';
import { loginFault, throughFault } from './faults.ts';
import { changedKey, type HostKeys, unknownKey } from './host-keys.ts';
import { hostAndPort, type Target, wayTo } from './target.ts';

/** What a machine is called in known_hosts, by its number on the way: ssh would change capital letters in the name of the node. */
export const aliasOf = (hop: number): string => `hop${hop}`;

/** What the ssh program is asked to log besides its complaints: which key a host shows. */
const keyShown = 'sshconnect.c:verify_host_key():*';
/** And for commands: in which way one has ended, and all else that a host tells of its session. */
const sessionTold = 'clientloop.c:client_input_channel_req():*';

export const loggedDetails = (ofCommand: boolean): string => (ofCommand ? `${keyShown},${sessionTold}` : keyShown);
/** Bytes that no honest host brings the log to. */
export const maximumLog = 1024 * 1024;
const isDetail = (line: string): boolean => /^debug\d: /.test(line);

/** How a command has ended on the node, where ssh itself shows only that it is over. */
export function endIn(log: string): 'code' | 'signal' | undefined {
  const [, kind] = /^debug\d: clientloop\.c:.* rtype exit-(status|signal) /m.exec(log) ?? [];
  return kind === 'status' ? 'code' : kind === 'signal' ? 'signal' : undefined;
}

const cannotReach = /timed out|refused|No route|unreachable|Could not resolve|stdio forwarding failed/i;
const wasLost = /closed by|reset by|Broken pipe/i;

/** Why ssh has failed. Its log is apart from what the command printed, and those on the way write into the same. */
export function failureIn(log: string, target: Target, keys: HostKeys): Fault {
  const lines = log
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '' && !isDetail(line));
  const complaint = lines.join('\n');
  const named = wayTo(target).findLast(({ address }, index) =>
    [`for ${aliasOf(index)} `, `@${address}: `, `to host ${address} port `].some((text) => complaint.includes(text)),
  );
  const hop = named ?? target;
  const keysShown = log.match(/(?<= Server host key: \S+ )SHA256:[A-Za-z0-9+/]+/g);
  const fault = reasonIn(complaint, hop, keys, keysShown?.at(-1)) ?? unnamedReason(lines, hop);
  return hop === target ? fault : throughFault(hop, fault);
}

function reasonIn(complaint: string, hop: Target, keys: HostKeys, shown: string | undefined): Fault | undefined {
  if (complaint.includes('IDENTIFICATION HAS CHANGED')) {
    const fingerprint = /SHA256:[A-Za-z0-9+/]+/.exec(complaint)?.[0] ?? 'unknown';
    return changedKey(hop, keys.known(hop.name), fingerprint, keys);
  }
  if (/No \S+ host key is known for/.test(complaint)) return unknownKey(hop, shown, keys);
  if (complaint.includes('Permission denied')) return loginFault(hop);
  return undefined;
}

function unnamedReason(lines: readonly string[], hop: Target): Fault {
  const where = `${hostAndPort(hop)}${hop.jump === undefined ? '' : ` through ${hop.jump.name}`}`;
  const unreached = lines.find((line) => cannotReach.test(line));
  if (unreached !== undefined) return new Unreachable(`its sshd at ${where} cannot be reached: ${unreached}`);
  const last = lines.at(-1);
  if (last !== undefined && lines.some((line) => wasLost.test(line)))
    return new Unreachable(`the connection to its sshd at ${where} was lost: ${last}`);
  if (last !== undefined) return new Fault('invalid', `ssh to ${where} failed: ${last}`);
  return new Fault(
    'invalid',
    `how the command ended is not known: the connection to its sshd at ${where} was lost, or the ssh program is too old ` +
      'to tell an exit code of 255 or a signal from that.',
  );
}
