import { Fault, Unreachable } from '../../core/errors.ts';
import { loginFault } from './faults.ts';
import { changedKey, type HostKeys, unknownKey } from './host-keys.ts';
import { placeOf, type Target, wayTo } from './target.ts';

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

/** Why ssh has failed. Its log is apart from what the command printed. */
export function failureIn(log: string, target: Target, keys: HostKeys): Fault {
  const lines = log.split('\n').filter((line) => line.trim() !== '' && !isDetail(line));
  const complaint = lines.join('\n');
  const hop = wayTo(target)[Number(/for hop(\d+) /.exec(complaint)?.[1] ?? 0)] ?? target;
  if (complaint.includes('IDENTIFICATION HAS CHANGED')) {
    const fingerprint = /SHA256:[A-Za-z0-9+/]+/.exec(complaint)?.[0] ?? 'unknown';
    return changedKey(hop, keys.known(hop.name) ?? '', fingerprint, keys);
  }
  if (/No \S+ host key is known for/.test(complaint)) {
    return unknownKey(hop, log.match(/(?<= Server host key: \S+ )SHA256:[A-Za-z0-9+/]+/g)?.at(-1), keys);
  }
  if (complaint.includes('Permission denied')) return loginFault(target);
  const last = lines.at(-1);
  if (/timed out|refused|No route|unreachable|Could not resolve/i.test(complaint)) {
    return new Unreachable(`its sshd at ${placeOf(target)} cannot be reached: ${last}`);
  }
  if (last !== undefined) return new Fault('invalid', `ssh to ${placeOf(target)} failed: ${last}`);
  return new Fault(
    'invalid',
    `how the command ended is not known: the connection to its sshd at ${placeOf(target)} was lost, or the ssh program is too old ` +
      'to tell an exit code of 255 or a signal from that.',
  );
}
