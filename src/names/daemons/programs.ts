import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { Fault } from '../../core/errors.ts';

/** Where daemons and their tools are, besides the path. */
const directories = ['/usr/sbin', '/sbin', '/usr/bin', '/usr/local/sbin'];

/** The path of a program; a Fault says what to install. */
export function installedProgram(name: string, install: string): string {
  const found = [...(process.env['PATH'] ?? '').split(':'), ...directories]
    .filter((directory) => directory !== '')
    .map((directory) => join(directory, name))
    .find((path) => existsSync(path));
  if (found) return found;
  throw new Fault('unavailable', `${name} is not installed on this machine; install ${install}.`);
}

/** A program of BIND. */
export const bindProgram = (name: string): string =>
  installedProgram(name, 'BIND 9 (Debian: apt install bind9 bind9-utils)');
