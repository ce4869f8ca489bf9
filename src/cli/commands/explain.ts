import { path } from '../client.ts';
import { type Call, type Invocation, musterCommand } from '../command.ts';
import { reading } from '../common-options.ts';
import { UsageError } from '../errors.ts';
import { writeData } from '../formats.ts';
import { valued } from '../options.ts';
import { oneLine } from '../output.ts';

export const explain = musterCommand({
  usage: `Usage: muster explain NODERANGE ATTRIBUTE
       muster explain --user NAME --command COMMAND [NODERANGE] [--line ARGUMENTS] [--host HOST]

Shows where the value of an attribute comes from: the node, a group or a default, and by which pattern. Or shows for each rule whether
it lets an account run a command; the exit status is 0 if the account may run it, else 1.`,
  options: {
    'user|u': valued('NAME', 'the account'),
    command: valued('COMMAND', 'the command it would run'),
    line: valued('ARGUMENTS', 'the argument line that rules see, such as "-t node -o n1 bmc=10.1.0.1"'),
    host: valued('HOST', 'where the request would come from'),
  },
  operands: [0, 2, 'Name a noderange and an attribute, or a user and a command.'],
  common: reading,
  run(invocation, options) {
    if (options.has('user') || options.has('command')) return explainRight(invocation, options);
    if (options.has('line') || options.has('host'))
      throw new UsageError('--line and --host need --user and --command.');
    return explainValue(invocation, options);
  },
});

async function explainValue(invocation: Invocation, options: Call): Promise<number> {
  const { client, stdout } = invocation;
  const [range, attribute] = options.operands;
  if (range === undefined || attribute === undefined)
    throw new UsageError('Name a noderange and an attribute, or a user and a command.');
  const { format } = options.common;
  const body = (await client.get(path('nodes', range, 'explain', attribute))) as Record<string, Source>;
  if (format === 'json') stdout.line(JSON.stringify(body, null, 2));
  else if (format)
    await writeData(
      invocation,
      format,
      Object.entries(body).map(([node, source]) => ({ node, ...source })),
    );
  else
    for (const [node, source] of Object.entries(body)) await stdout.line(`${node}: ${sentenceOf(attribute, source)}`);
  return 0;
}

interface Source {
  readonly value?: string | null;
  readonly source?: string;
  readonly row?: string;
  readonly table?: string;
  readonly column?: string;
  readonly stored?: string;
  readonly pattern?: string;
}

function sentenceOf(attribute: string, { value, source, row, table: of, column, stored, pattern }: Source): string {
  if (value === undefined || value === null || source === 'unset') return `${attribute} is not set`;
  const from = row === undefined ? '' : source === 'group' ? ` ${row}` : '';
  const where = of === undefined ? '' : ` (${of}.${column ?? ''})`;
  const by = pattern === undefined ? '' : `, by ${oneLine(stored ?? pattern)}`;
  return `${attribute}=${oneLine(value)}, from the ${source ?? 'node'}${from}${where}${by}`;
}

interface Verdict {
  readonly allowed: boolean;
  readonly why: readonly string[];
  readonly trust?: Readonly<Record<string, Verdict>>;
}

async function explainRight(invocation: Invocation, options: Call): Promise<number> {
  const { client, stdout } = invocation;
  const [noderange, ...more] = options.operands;
  const [user, asked] = [options.value('user'), options.value('command')];
  if (user === undefined || asked === undefined || more.length > 0)
    throw new UsageError('Name a user with --user and a command with --command, and at most one noderange.');
  const { format } = options.common;
  const query = { user, command: asked, noderange, line: options.value('line'), host: options.value('host') };
  const verdict = (await client.get('/policy/explain', { query })) as Verdict;
  const refused = Object.entries(verdict.trust ?? {}).filter(([, { allowed }]) => !allowed);
  if (format === 'json') stdout.line(JSON.stringify(verdict, null, 2));
  else if (format) await writeData(invocation, format, [verdict]);
  else {
    stdout.line(
      `${user} ${verdict.allowed ? 'may' : 'may not'} run ${asked}${noderange === undefined ? '' : ` on ${noderange}`}.`,
    );
    for (const sentence of verdict.why) stdout.line(`  ${sentence}`);
    for (const [name, { why }] of refused) {
      stdout.line(`Not with ${name}:`);
      for (const sentence of why) stdout.line(`  ${sentence}`);
    }
  }
  return verdict.allowed && refused.length === 0 ? 0 : 1;
}
