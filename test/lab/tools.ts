import { execFile } from 'node:child_process';
import { labAccounts } from './addresses.ts';

interface Login {
  readonly suite?: number;
  readonly username?: string;
  readonly password?: string;
  readonly level?: string;
  readonly port?: number;
}

interface Outcome {
  readonly failed: boolean;
  readonly output: string;
}

const run = (program: string, args: readonly string[]): Promise<Outcome> =>
  new Promise((resolve) => {
    // freeipmi-tools are in /usr/sbin, which not every user has in the path.
    const env = { ...process.env, PATH: `${process.env.PATH}:/usr/sbin` };
    execFile(program, args, { env, timeout: 60_000 }, (error, stdout, stderr) => {
      resolve({ failed: error !== null, output: `${stdout}${stderr}${error && !stderr ? error.message : ''}` });
    });
  });

/** What ipmitool prints; an error with it when it fails. */
export async function ipmitool(address: string, words: readonly string[], login: Login = {}): Promise<string> {
  const { suite = 17, level = 'ADMINISTRATOR', port = 623 } = login;
  const { username, password } = { ...labAccounts.administrator, ...login };
  const args = ['-I', 'lanplus', '-H', address, '-p', String(port), '-C', String(suite), '-L', level, '-R', '2'];
  const { failed, output } = await run('ipmitool', [...args, '-U', username, '-P', password, ...words]);
  if (failed) throw new Error(output);
  return output;
}

/** What ipmipower says of each address; it exits with 1 when one of them has not answered. */
export async function ipmipower(
  addresses: readonly string[],
  suite: number,
  ...words: string[]
): Promise<Record<string, string>> {
  const { username, password } = labAccounts.administrator;
  const login = ['-h', addresses.join(','), '-u', username, '-p', password, '-D', 'LAN_2_0', '-I', String(suite)];
  const { output } = await run('ipmipower', [...login, ...words]);
  const lines = output.trim().split('\n').sort();
  return Object.fromEntries(
    lines.map((line) => {
      const mark = line.indexOf(': ');
      return [line.slice(0, mark), line.slice(mark + 2)];
    }),
  );
}
