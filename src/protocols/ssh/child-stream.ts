import type { ChildProcess } from 'node:child_process';
import { Duplex } from 'node:stream';
import { unstartedFault } from './faults.ts';

/** Input and output of a process as one stream; it ends when the process has ended, with the error that `judge` finds then. */
export function childStream(child: ChildProcess, judge: () => Promise<Error | undefined>): Duplex {
  const { stdin, stdout } = child;
  const stream = new Duplex({
    read: () => void stdout!.resume(),
    write: (chunk: Buffer, _encoding, done) => {
      if (stdin!.write(chunk)) done();
      else stdin!.once('drain', done);
    },
    final: (done) => void stdin!.end(done),
    destroy: (error, done) => {
      child.kill();
      done(error);
    },
  });
  stdout!.on('data', (chunk: Buffer) => {
    if (!stream.push(chunk)) stdout!.pause();
  });
  const finish = (error: Error | undefined): void => {
    if (error) stream.destroy(error);
    else if (!stream.destroyed) stream.push(null);
  };
  child.once('error', (error) => stream.destroy(unstartedFault(error)));
  child.once('close', () => void judge().then(finish, finish));
  return stream;
}
