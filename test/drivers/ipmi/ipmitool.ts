import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

export interface Account {
  readonly username: string;
  readonly password: string;
}

const run = promisify(execFile);
const patience = ['-N', '2', '-R', '2'];

/** What ipmitool, an independent client, says about a BMC. */
export async function ipmitool(address: string, account: Account, ...args: readonly string[]): Promise<string> {
  const login = ['-I', 'lanplus', '-C', '17', '-H', address, '-U', account.username, '-P', account.password];
  const { stdout } = await run('ipmitool', [...login, ...patience, ...args]);
  return stdout;
}
