import { constants, fstatSync, openSync } from 'node:fs';
import { LineSink } from './line-sink.ts';

const { O_WRONLY, O_APPEND, O_NONBLOCK, O_NOCTTY } = constants;

/**
 * A descriptor of standard output or standard error that does not wait for a reader. A thread that waits for one would be missing
 * elsewhere, and would hold up the end of the process for as long as the reader hangs.
 */
export function withoutWaiting(standard: 1 | 2): number {
  const kind = fstatSync(standard);
  if (!kind.isFIFO() && !kind.isCharacterDevice() && !kind.isSocket()) return standard;
  try {
    // Opened anew, so that others who write there still wait.
    return openSync(`/proc/self/fd/${standard}`, O_WRONLY | O_APPEND | O_NONBLOCK | O_NOCTTY);
  } catch {
    // A socket, or a pipe of another user: Node makes these so for its own stream, until the process ends.
    void (standard === 1 ? process.stdout : process.stderr);
    return standard;
  }
}

let output: LineSink | undefined;
let errors: LineSink | undefined;

/** Says lines on standard output. Nobody may be there to hear them; the service goes on. */
export function say(text: string): void {
  output ??= new LineSink({
    descriptor: withoutWaiting(1),
    failed: ({ message }) => complain(`muster: Standard output cannot be written: ${message}.\n`),
  });
  output.write(text);
}

/** The same on standard error. */
export function complain(text: string): void {
  errors ??= new LineSink({ descriptor: withoutWaiting(2) });
  errors.write(text);
}
