import { closeSync, fstatSync, readFileSync } from 'node:fs';
import { Fault } from '../../core/errors.ts';
import { openRealSync } from '../../core/open-real.ts';
import { checkCommand, commandLine, withEnvironment } from '../../core/shell-words.ts';
import type { ShellRequest } from './shell-request.ts';

/** Bytes of a script or a file with an environment. */
const longestScript = 4 * 1024 * 1024;
const longestEnvironment = 64 * 1024;

/** What a node's shell gets, and what the command reads. `admit` finds the real path of a file here that may be sent. */
export function instructionFor(
  request: ShellRequest,
  admit: (path: string) => string,
  publicKey: string,
): { command: string; stdin: Uint8Array | undefined } {
  if (request.password !== undefined) return { command: keySetUp(publicKey), stdin: undefined };
  const { script } = request;
  const stdin = script && readSmall(admit(script.path), longestScript);
  const before = request.environmentFile;
  const settings = before === undefined ? '' : `${readSmall(admit(before), longestEnvironment).toString()}\n`;
  const command = `${settings}${script ? runInput(script.rest) : request.command}`;
  const full = withEnvironment(request.environment, command);
  const sent = request.sudo ? commandLine(['sudo', '-n', '--', 'sh', '-c', full]) : full;
  checkCommand(sent);
  return { command: sent, stdin };
}

/** A program that comes on standard input, whatever interpreter it names; it is taken away again. */
function runInput(rest: string): string {
  return (
    `muster_script=$(mktemp) || exit 1; trap 'rm -f "$muster_script"' EXIT; trap 'exit 143' HUP INT TERM; ` +
    `cat > "$muster_script" && chmod 700 "$muster_script" && "$muster_script" ${rest}`
  );
}

/** Makes the key one of those that the user may log in with. */
function keySetUp(publicKey: string): string {
  const script =
    'umask 077; cd && mkdir -p .ssh && touch .ssh/authorized_keys && cd .ssh && ' +
    '{ [ -z "$(tail -c 1 authorized_keys)" ] || echo >> authorized_keys; } && ' +
    '{ grep -qxF "$1" authorized_keys || printf "%s\\n" "$1" >> authorized_keys; }';
  return commandLine(['sh', '-c', script, 'muster', publicKey]);
}

function readSmall(path: string, limit: number): Buffer {
  let file: number | undefined;
  try {
    file = openRealSync(path);
    const stats = fstatSync(file);
    if (!stats.isFile() || stats.size > limit) {
      throw new Fault('invalid', `${path} cannot be sent: it is not a file of at most ${limit} bytes.`);
    }
    return readFileSync(file);
  } catch (error) {
    if (error instanceof Fault) throw error;
    throw new Fault('invalid', `${path} cannot be read: ${(error as Error).message}.`);
  } finally {
    if (file !== undefined) closeSync(file);
  }
}
