import { fstatSync, readSync } from 'node:fs';
import { Fault } from '../../../core/errors.ts';

export const blockSize = 2_048;

/** The bytes of a medium. Nothing beyond the end of the file is ever asked of the system. */
export class IsoFile {
  readonly fd: number;
  readonly size: number;
  /** As the caller named it, for sentences. */
  readonly name: string;

  constructor(fd: number, name: string) {
    const status = fstatSync(fd);
    if (!status.isFile()) throw new Fault('invalid', `${name} is not a plain file.`);
    this.fd = fd;
    this.size = status.size;
    this.name = name;
  }

  /** Exactly these bytes. */
  read(position: number, length: number, what: string): Buffer {
    this.checkRange(position, length, what);
    const bytes = Buffer.allocUnsafe(length);
    for (let done = 0; done < length; ) {
      const read = readSync(this.fd, bytes, done, length - done, position + done);
      if (read === 0) throw this.truncated(what);
      done += read;
    }
    return bytes;
  }

  blocks(first: number, length: number, what: string): Buffer {
    return this.read(first * blockSize, length, what);
  }

  checkRange(position: number, length: number, what: string): void {
    if (position + length > this.size) throw this.truncated(what);
  }

  truncated(what: string): Fault {
    return new Fault(
      'invalid',
      `${this.name} is truncated or damaged: it has ${this.size} bytes, and ${what} would lie behind its end. Download it again.`,
    );
  }

  /** What no medium that was made to be read has. */
  broken(why: string): Fault {
    return new Fault('invalid', `${this.name} is damaged or was tampered with: ${why}.`);
  }
}
