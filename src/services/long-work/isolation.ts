import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

/** All that programs of long work get from here; settings and secrets of muster's environment are none of their business. */
export const fixedEnvironment: Readonly<Record<string, string>> = {
  PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
  LANG: 'C.UTF-8',
  HOME: '/root',
};

// By their paths: a program may be given another PATH.
const unshare = '/usr/bin/unshare';
const setpriv = '/usr/bin/setpriv';

// Whatever a process starts ends with it: its namespace of processes ends with the first one in it. That is a shell, since the first one
// has to wait for all that others have left, and Node waits for its own children only.
const apart = [unshare, '--mount', '--pid', '--fork', '--kill-child', '--mount-proc', '--'];
const waiting = ['/bin/sh', '-c', '"$@" & wait $!', 'sh'];
const withoutNetwork = [unshare, '--net', '--'];
/** The kernel ends it when whoever started it is gone, also after SIGKILL. */
const notLongerThanUs = [setpriv, '--pdeathsig', 'KILL', '--'];

export const childCommand = (isolated: boolean, command: readonly string[]): string[] => [
  ...notLongerThanUs,
  ...(isolated ? [...apart, ...waiting] : []),
  ...command,
];

export const programCommand = (isolated: boolean, network: boolean, command: readonly string[]): string[] => [
  ...notLongerThanUs,
  ...(isolated && !network ? withoutNetwork : []),
  ...command,
];

/** Why this process cannot make namespaces; undefined: it can. Only trying tells, since containers forbid it in many ways. */
export async function isolationProblem(): Promise<string | undefined> {
  const [program, ...args] = childCommand(true, [...withoutNetwork, 'true']);
  try {
    await promisify(execFile)(program!, args, { env: fixedEnvironment });
    return undefined;
  } catch (error) {
    const { stderr, message } = error as Error & { readonly stderr?: string };
    return (stderr || message).trim();
  }
}
