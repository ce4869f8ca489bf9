import { statSync } from 'node:fs';
import { dirname } from 'node:path';
import { Fault } from './errors.ts';

const writableByOthers = 0o022;
const sticky = 0o1000;

/**
 * Fails if another user could rename what muster makes in a directory and put a link in its place: then muster, as root, would write
 * wherever that user wants. `directory` is a real path; what does not exist of it is muster's to make.
 */
export function checkSafeDirectory(directory: string): void {
  for (let path = directory; ; path = dirname(path)) {
    const status = statSync(path, { throwIfNoEntry: false });
    if (status) {
      const { uid, mode } = status;
      if (uid !== 0 && uid !== process.geteuid!())
        throw unsafe(path, `belongs to the user with the id ${uid}`, `chown root ${path}`);
      if ((mode & writableByOthers) !== 0 && (mode & sticky) === 0)
        throw unsafe(path, 'can be written by other users', `chmod go-w ${path}`);
    }
    if (path === dirname(path)) return;
  }
}

const unsafe = (path: string, why: string, command: string): Fault =>
  new Fault(
    'invalid',
    `${path} ${why}, who could replace what muster makes there; run "${command}" on the management node and try again.`,
  );
