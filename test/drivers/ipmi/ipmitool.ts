import { execFile } from 'node:child_process';
import type { IpmiConnections } from '../../../src/drivers/ipmi/index.ts';
import { Unreachable } from '../../../src/core/errors.ts';
import type { IpmiLink } from '../../../src/protocols/ipmi/link.ts';

export interface Account {
  readonly username: string;
  readonly password: string;
}

interface Output {
  readonly failed: boolean;
  readonly stdout: string;
  readonly stderr: string;
}

const patience = ['-N', '2', '-R', '2'];

function run(address: string, account: Account, args: readonly string[]): Promise<Output> {
  const login = [
    '-I',
    'lanplus',
    '-C',
    '17',
    ...patience,
    '-H',
    address,
    '-U',
    account.username,
    '-P',
    account.password,
  ];
  return new Promise((resolve) => {
    execFile('ipmitool', [...login, ...args], (error, stdout, stderr) => {
      resolve({ failed: error !== null, stdout, stderr });
    });
  });
}

/** What ipmitool, an independent client, says about a BMC. */
export async function ipmitool(address: string, account: Account, ...args: readonly string[]): Promise<string> {
  const { failed, stdout, stderr } = await run(address, account, args);
  if (failed) throw new Error(`ipmitool ${args.join(' ')}: ${stderr || stdout}`);
  return stdout;
}

const words = (bytes: Iterable<number>) => Array.from(bytes, (byte) => `0x${byte.toString(16)}`);

/** A link whose every request is one run of `ipmitool raw`: slow, and not of our making. */
export function ipmitoolLink(address: string, account: Account): IpmiLink {
  return {
    async request({ netfn, command, data = Buffer.alloc(0) }) {
      const { failed, stdout, stderr } = await run(address, account, ['raw', ...words([netfn, command, ...data])]);
      if (!failed) return { code: 0, data: Buffer.from(stdout.replace(/\s+/g, ''), 'hex') };
      const code = /rsp=0x([0-9a-f]+)/.exec(stderr)?.[1];
      if (code === undefined) throw new Unreachable(stderr);
      return { code: Number.parseInt(code, 16), data: Buffer.alloc(0) };
    },
  };
}

export const ipmitoolConnections: IpmiConnections = {
  link: ({ address, username, password }) => ipmitoolLink(address, { username, password }),
  async close() {},
};
