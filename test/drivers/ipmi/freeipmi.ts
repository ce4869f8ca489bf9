import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { Account } from './ipmitool.ts';

const run = promisify(execFile);

/** What a tool of freeipmi says about a BMC. */
export async function freeipmi(
  tool: string,
  address: string,
  account: Account,
  ...args: readonly string[]
): Promise<string> {
  const login = [
    '-D',
    'LAN_2_0',
    '-I',
    '17',
    '-l',
    'ADMIN',
    '-h',
    address,
    '-u',
    account.username,
    '-p',
    account.password,
  ];
  const { stdout } = await run(`/usr/sbin/${tool}`, [...login, ...args]);
  return stdout;
}
