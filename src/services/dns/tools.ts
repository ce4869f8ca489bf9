import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { Fault } from '../../core/errors.ts';

const timeout = 60_000;
/** Where named and its tools are, besides the path. */
const directories = ['/usr/sbin', '/sbin', '/usr/bin', '/usr/local/sbin'];

export function bindProgram(name: string): string {
  const found = [...(process.env['PATH'] ?? '').split(':'), ...directories]
    .filter((directory) => directory !== '')
    .map((directory) => join(directory, name))
    .find((path) => existsSync(path));
  if (found) return found;
  throw new Fault(
    'unavailable',
    `${name} is not installed on this machine; install BIND 9 (Debian: apt install bind9 bind9-utils).`,
  );
}

export const runTool = (name: string, args: readonly string[]): Promise<{ failed: boolean; output: string }> =>
  new Promise((resolve) => {
    const options = { timeout, maxBuffer: 16 * 1024 * 1024 };
    execFile(bindProgram(name), args, options, (error, stdout, stderr) => {
      resolve({ failed: error !== null, output: `${stdout}${stderr}`.trim() || (error?.message ?? '') });
    });
  });

/** Refuses what BIND's own checker refuses, with its words. */
export async function check(what: string, name: string, args: readonly string[]): Promise<void> {
  const { failed, output } = await runTool(name, args);
  if (!failed) return;
  const said = output.split('\n').filter((line) => !/loaded serial \d+$/.test(line));
  throw new Fault('invalid', [
    `${name} does not accept ${what}; nothing was changed.`,
    said.slice(-3).join(' | ').slice(0, 600),
  ]);
}
