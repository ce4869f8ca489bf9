import { SshClient, type SshClientOptions } from '../../../src/protocols/ssh/client.ts';
import { CollectedOutput } from '../../../src/protocols/ssh/collected.ts';
import type { HostKeys } from '../../../src/protocols/ssh/host-keys.ts';
import type { ExecOptions, Target, Transport } from '../../../src/protocols/ssh/target.ts';
import type { SshLab } from '../../lab/ssh.ts';

export interface MemoryHostKeys extends HostKeys {
  readonly keys: Map<string, string>;
}

export function memoryHostKeys(policy: HostKeys['policy'] = 'first-use'): MemoryHostKeys {
  const keys = new Map<string, string>();
  return {
    keys,
    policy,
    known: (name) => [keys.get(name)].filter((key) => key !== undefined),
    async learn(name, key) {
      if (!keys.has(name)) keys.set(name, key);
    },
    howToForget: (name) => `forget ${name}`,
    howToLearn: (name) => `learn ${name}`,
  };
}

export const clientOf = (lab: SshLab, options: Partial<SshClientOptions> = {}): SshClient =>
  new SshClient({ privateKey: lab.privateKey, hostKeys: memoryHostKeys(), ...options });

export function targetOf(lab: SshLab, index: number, more: Partial<Target> = {}): Target {
  return { name: lab.name(index), address: lab.addresses[index]!, port: lab.port, user: lab.username, ...more };
}

export const never = new AbortController().signal;

export interface Ran {
  readonly code: number | undefined;
  readonly signal: string | undefined;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a command and waits for all of it. */
export async function run(
  transport: Transport,
  target: Target,
  command: string,
  options: Partial<ExecOptions> = {},
): Promise<Ran> {
  const output = new CollectedOutput(1024 * 1024);
  const exit = await transport.exec(target, command, output, { signal: never, ...options });
  return { ...exit, stdout: output.text('stdout'), stderr: output.text('stderr') };
}

/** The sentence that work fails with. */
export async function complaint(work: Promise<unknown>): Promise<string> {
  return work.then(
    () => {
      throw new Error('It did not fail.');
    },
    (error: unknown) => (error as Error).message,
  );
}
