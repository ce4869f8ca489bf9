import { readFileSync } from 'node:fs';
import { askSecret } from '../ask.ts';
import { certificateSteps } from '../bmc/certificates.ts';
import type { Step } from '../bmc/step.ts';
import { path } from '../client.ts';
import { type Call, type Invocation, musterCommand } from '../command.ts';
import { onNodes } from '../common-options.ts';
import { UsageError } from '../errors.ts';
import { codeOf } from '../nodes/node-command.ts';
import { type NodeReport, workOnNodes } from '../nodes/work.ts';
import { flag, valued } from '../options.ts';

/** A word for each node where it was done. */
const says =
  (done: string): ((call: Call) => NodeReport) =>
  ({ operands: [, , name] }) => ({ lines: () => [`${done} the account ${name}`] });
const passwordOptions = ['password-file', 'password-stdin'];

const steps: Readonly<Record<string, Step>> = {
  accounts: {
    name: false,
    options: [],
    request: (_invocation, _call, range) => ({ method: 'GET', at: path('nodes', range, 'sp', 'accounts') }),
    report: {
      lines: (value) =>
        Object.entries(value as Record<string, readonly string[]>).map(
          ([name, words]) => `${name}: ${words.join(', ')}`,
        ),
    },
  },
  adduser: {
    name: true,
    options: ['role', ...passwordOptions],
    async request(invocation, call, range, username) {
      const role = call.value('role');
      if (role === undefined) throw new UsageError('Say with --role what the account may do.');
      const password = await passwordFor(invocation, call, username);
      return { method: 'POST', at: path('nodes', range, 'sp', 'accounts'), body: { username, password, role } };
    },
    report: says('made'),
  },
  chuser: {
    name: true,
    options: ['role', 'enable', 'disable', 'password', ...passwordOptions],
    async request(invocation, call, range, username) {
      const asks = call.flag('password') || passwordOptions.some((option) => call.has(option));
      const role = call.value('role');
      if (call.flag('enable') && call.flag('disable')) throw new UsageError('Give --enable or --disable, not both.');
      const body = {
        ...(role === undefined ? {} : { role }),
        ...(call.flag('enable') ? { enabled: 'yes' } : call.flag('disable') ? { enabled: 'no' } : {}),
        ...(asks ? { password: await passwordFor(invocation, call, username) } : {}),
      };
      if (Object.keys(body).length === 0)
        throw new UsageError('Say what is to change: --role, --enable, --disable or --password.');
      return { method: 'PUT', at: path('nodes', range, 'sp', 'accounts', username), body };
    },
    report: says('changed'),
  },
  rmuser: {
    name: true,
    options: [],
    request: (_invocation, _call, range, username) => ({
      method: 'DELETE',
      at: path('nodes', range, 'sp', 'accounts', username),
    }),
    report: (call) => ({ ...says('removed')(call), question: 'Remove the account from the BMCs of' }),
  },
  rotate: {
    name: false,
    options: ['length'],
    request(_invocation, call, range) {
      const length = call.value('length');
      if (length !== undefined && !/^(1[2-9]|[2-5]\d|6[0-4])$/.test(length))
        throw new UsageError(`--length takes a number from 12 to 64, and not "${length}".`);
      const body = length === undefined ? {} : { length: Number(length) };
      return { method: 'POST', at: path('nodes', range, 'sp', 'rotate'), body };
    },
    report: {
      lines: (value) => [(value as { readonly password: string }).password],
      question: 'Give new passwords to the BMCs of',
    },
  },
  ...certificateSteps,
};

const wrongCall = `Say what to do: ${Object.keys(steps).join(', ')}, and with which nodes.`;

export const bmc = musterCommand({
  usage: `Usage: muster bmc accounts NODERANGE
       muster bmc adduser NODERANGE NAME --role ROLE
       muster bmc chuser NODERANGE NAME [--role ROLE] [--enable|--disable] [--password]
       muster bmc rmuser NODERANGE NAME
       muster bmc rotate NODERANGE [--length N]
       muster bmc certificates NODERANGE
       muster bmc renew NODERANGE [--within DAYS]
       muster bmc request NODERANGE --directory DIR [--subject TEXT]
       muster bmc install NODERANGE --directory DIR
       muster bmc authority

Shows and changes the accounts of BMCs. Roles are administrator, operator and readonly. The account that muster itself uses is
left as it is. Passwords are asked for, or come from a file or from standard input. rotate gives the account that muster itself uses
a new random password on each BMC, and keeps it in the node.

certificates shows the certificates of Redfish services. renew replaces them by ones that muster signs. request writes requests for
certificates to DIR/NODE.csr, for an authority of the site to sign, and install takes what it has signed from DIR/NODE.pem. authority prints the
certificate of the authority by which muster signs.`,
  options: {
    role: valued('ROLE', 'administrator, operator or readonly'),
    enable: flag('with chuser: let somebody log in with it'),
    disable: flag('with chuser: let nobody log in with it'),
    password: flag('with chuser: ask for a new password'),
    length: valued('N', 'with rotate: characters of the new passwords, 12 to 64; without it 16'),
    within: valued('DAYS', 'with renew: only those that end within so many days'),
    directory: valued('DIR', 'with request and install: where the files are'),
    subject: valued('TEXT', 'with request: O=Example,OU=HPC,L=Bonn,ST=NRW,C=DE'),
    'password-file': valued('FILE', 'read the password from the first line of a file'),
    'password-stdin': flag('read the password from standard input'),
  },
  operands: [1, 3, wrongCall],
  common: onNodes,
  async run(invocation, call) {
    const [word = '', range = '', name] = call.operands;
    if (word === 'authority' && range === '') return authority(invocation);
    const step = Object.hasOwn(steps, word) ? steps[word]! : undefined;
    if (!step || range === '') throw new UsageError(wrongCall);
    if (step.name && !name) throw new UsageError(`${word} needs the name of an account behind the nodes.`);
    if (!step.name && name !== undefined) throw new UsageError(`${word} takes nothing behind the nodes.`);
    const given = Object.keys(bmc.options).filter((option) => call.has(option));
    const stray = given.find((option) => !step.options.includes(option));
    if (stray !== undefined) throw new UsageError(`--${stray} does not go with ${word}.`);
    const request = await step.request(invocation, call, range, name ?? '');
    const report = typeof step.report === 'function' ? step.report(call) : step.report;
    return codeOf(await workOnNodes(invocation, request, { range, ...report }, call.common));
  },
});

async function authority({ client, stdout, stderr }: Invocation): Promise<number> {
  const { certificate } = (await client.get('/bmcauthority')) as { readonly certificate: string };
  if (certificate === '') {
    stderr.line('muster has signed no certificate of a BMC yet. muster bmc renew makes the authority.');
    return 1;
  }
  stdout.line(certificate.trimEnd());
  return 0;
}

/** Never from the command line, which others can read. */
async function passwordFor({ stdin, terminal }: Invocation, call: Call, name: string): Promise<string> {
  const file = call.value('password-file');
  if (file !== undefined && call.flag('password-stdin'))
    throw new UsageError('Give --password-file or --password-stdin, not both.');
  if (file !== undefined) return firstLine(readPassword(file), file);
  if (call.flag('password-stdin')) return firstLine(await stdin.text(), 'Standard input');
  const typed = await askSecret(`New password of ${name}: `, terminal);
  if (typed !== (await askSecret('The same again: ', terminal)))
    throw new UsageError('The passwords differ. Nothing was changed.');
  return firstLine(typed, 'What was typed');
}

function readPassword(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw new UsageError(`${file} cannot be read: ${(error as Error).message}.`);
  }
}

function firstLine(text: string, from: string): string {
  const [line = ''] = text.split(/\r?\n/, 1);
  if (line === '') throw new UsageError(`${from} has no password.`);
  return line;
}
