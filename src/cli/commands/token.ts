import { userInfo } from 'node:os';
import { askSecret } from '../ask.ts';
import { path } from '../client.ts';
import { type Invocation, musterCommand } from '../command.ts';
import { type Format, reading } from '../common-options.ts';
import { UsageError } from '../errors.ts';
import { writeData } from '../formats.ts';
import { flag, type ParsedOptions, valued } from '../options.ts';
import { readContexts } from '../places.ts';
import { localTime, padded } from '../times.ts';

interface Listed {
  readonly id: string;
  readonly name?: string;
  readonly commands?: string;
  readonly noderange?: string;
  readonly created: string;
  readonly expire: string;
  readonly access: string;
  readonly current: boolean;
}

const ofNew = ['commands', 'range', 'days', 'name', 'user', 'password', 'password-stdin'] as const;

export const token = musterCommand({
  usage: `Usage: muster token --commands NAME[,NAME...] [--range RANGE] [--days N] [--name TEXT]
       muster token --range RANGE [--commands NAME[,NAME...]] [--days N] [--name TEXT]
       muster token list
       muster token revoke ID

Makes a token for a script: it can do only these commands, only on these nodes, and never more than your account. The token is printed
once; put it into MUSTER_TOKEN where the script runs. list shows your tokens with what they are limited to and when they were last
used, and revoke ends one of them.`,
  options: {
    commands: valued('NAMES', 'the only commands, by the names that policy rules use, such as lsdef,rpower'),
    range: valued('RANGE', 'the only nodes: those that the range means whenever the token is used'),
    days: valued('N', 'how long it is valid, at most 366 days and not longer than your login; without it as a login'),
    name: valued('TEXT', 'what it is for, as list shows it'),
    user: valued('NAME', 'whose password that is; without it the account of the login'),
    password: flag('ask for your password: then it may live longer than your login'),
    'password-stdin': flag('the same, and read the password from standard input'),
  },
  notes: 'muster help login says how to get a token without limits.',
  operands: [0, 2, 'Say list, or revoke and the ID of the token.'],
  common: reading,
  async run(invocation, options) {
    const [what, id, ...more] = options.operands;
    const { format } = options.common;
    if (what === undefined) return make(invocation, options, format);
    const odd = ofNew.find((name) =>
      name.startsWith('password') ? options.flag(name) : options.value(name) !== undefined,
    );
    if (odd !== undefined) throw new UsageError(`--${odd} is for a new token alone.`);
    if (what === 'list' && id === undefined) return list(invocation, format);
    if (what !== 'revoke')
      throw new UsageError(`There is no "muster token ${options.operands.join(' ')}"; there are list and revoke ID.`);
    if (id === undefined || more.length > 0) throw new UsageError('Say which token: muster token list shows the IDs.');
    await invocation.client.call('DELETE', path('tokens', id));
    return 0;
  },
});

async function make(invocation: Invocation, options: ParsedOptions, format: Format | undefined): Promise<number> {
  const { client, stdout, stderr } = invocation;
  const [commands, noderange] = [options.value('commands'), options.value('range')];
  if (commands === undefined && noderange === undefined)
    throw new UsageError('Say what the token is limited to, with --commands, --range or both.');
  const days = options.value('days');
  if (days !== undefined && !/^\d{1,3}(\.\d{1,6})?$/.test(days))
    throw new UsageError('--days is a number, such as 30.');
  const name = options.value('name');
  const body = {
    ...(await accountOf(invocation, options)),
    ...(commands === undefined ? {} : { commands }),
    ...(noderange === undefined ? {} : { noderange }),
    ...(days === undefined ? {} : { days: Number(days) }),
    ...(name === undefined ? {} : { name }),
  };
  const reply = await client.call('POST', '/tokens', { body });
  const made = (reply.body as { token: { id: string; publicId: string; expire: string } }).token;
  if (format) return writeData(invocation, format, [made]);
  await stdout.line(made.id);
  const until = made.expire === 'never' ? 'until you revoke it' : `until ${padded(made.expire)} of the server's time`;
  await stderr.line(`This is shown once. It is valid ${until}; "muster token revoke ${made.publicId}" ends it.`);
  return 0;
}

/** Whose password is sent; nothing where the login will do. */
async function accountOf({ env, stdin, terminal }: Invocation, options: ParsedOptions): Promise<object> {
  if (!options.flag('password') && !options.flag('password-stdin')) return {};
  const { current, contexts } = readContexts(env);
  const userName =
    options.value('user') ?? contexts[env['MUSTER_CONTEXT'] ?? current ?? '']?.user ?? userInfo().username;
  const userPW = options.flag('password-stdin')
    ? (await stdin.text()).replace(/\r?\n$/, '')
    : await askSecret(`Password of ${userName}: `, terminal);
  return { userName, userPW };
}

async function list(invocation: Invocation, format: Format | undefined): Promise<number> {
  const { client, stdout } = invocation;
  const { tokens } = (await client.get('/tokens')) as { tokens: readonly Listed[] };
  if (format) return writeData(invocation, format, tokens);
  for (const each of tokens) await stdout.line(lineOf(each));
  return 0;
}

function lineOf({ id, name, commands, noderange, created, expire, access, current }: Listed): string {
  const limits = [
    ...(commands === undefined ? [] : [`commands ${commands}`]),
    ...(noderange === undefined ? [] : [`nodes ${noderange}`]),
  ];
  return [
    `${current ? '*' : ' '} ${id}`,
    ...(name === undefined ? [] : [name]),
    limits.length > 0 ? limits.join(', ') : 'no limits',
    `from ${localTime(created)} until ${padded(expire)}`,
    access === '' ? 'not used yet' : `last used ${localTime(access)}`,
  ].join('  ');
}
