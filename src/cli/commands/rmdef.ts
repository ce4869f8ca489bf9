import type { Client } from '../client.ts';
import { type DefinitionCall, readCall, tellWrong, told, Wrong } from '../definitions/arguments.ts';
import { missingText, readNames } from '../definitions/reading.ts';
import { tellRefusal } from '../definitions/writing.ts';
import type { CliCommand, Invocation } from '../invocation.ts';
import { errorLine, resultLine } from '../lines.ts';

const usage = `Usage: rmdef [-t TYPE] [-o NAMES | NODERANGE] [-V]
       rmdef -a -f
       rmdef [-h | -v]

Removes definitions, all of them in one change. Names that nothing has are told, and the others are removed.

  -t TYPE    the type of the objects, node if absent
  -o NAMES   a node range; for other types names joined by commas
  -a -f      removes everything
  -V         names what was removed`;

interface Removed {
  readonly removed: readonly string[];
  readonly missing: readonly { readonly type: string; readonly name: string }[];
}

export const command: CliCommand = {
  usage,
  async run(invocation) {
    const { argv, stdout, client } = invocation;
    if (argv.length === 0) {
      stdout.line(usage);
      return 0;
    }
    try {
      const options = { 'force|f': 'flag', 'all|a': 'flag', C: 'flag' } as const;
      const call = readCall(argv, options, 'Invalid flag specified, see rmdef manpage for details.');
      return told(call, invocation, usage) ?? (await remove(call, invocation));
    } catch (error) {
      if (error instanceof Wrong && client.server === undefined) await client.get('/definitions');
      return tellWrong(error, invocation, usage, client.server);
    }
  },
};

async function remove(call: DefinitionCall, invocation: Invocation): Promise<number> {
  const { client, stdout, stderr, env } = invocation;
  const definitions = await named(call, client);
  let done: Removed;
  try {
    done = (await client.call('DELETE', '/definitions', { body: { definitions, missing: 'skip' } })).body as Removed;
  } catch (error) {
    return tellRefusal(error, invocation, call.names ?? '', () => false);
  }
  const { server } = client;
  const say = (text: string) => stdout.line(resultLine(text, { env, server }));
  for (const { type, name } of done.missing) stderr.line(errorLine(missingText(name, type), server));
  if (done.removed.length === 0) say('No objects have been removed from the xCAT database.');
  else if (call.options.flag('verbose')) say(`The following objects were removed:\n\n${done.removed.join('\n')}`);
  else say(`${done.removed.length} object definitions have been removed.`);
  return done.missing.length > 0 ? 1 : 0;
}

async function named(
  { options, types, names }: DefinitionCall,
  client: Client,
): Promise<{ type: string; names: string }[]> {
  if (options.flag('all') && types.length > 0)
    throw new Wrong("The flags '-a' and '-t' cannot be used together.", true);
  if (options.flag('all') && !options.flag('force'))
    throw new Wrong("You must use the '-f' option when using the '-a' option.", true);
  if (options.flag('all')) return everything(client);
  // All names are looked up under the first type, as the reference system does.
  const type = types[0] ?? 'node';
  if (type === 'site') return [{ type, names: 'clustersite' }];
  if (names === undefined) throw new Wrong('No object names were provided.', true);
  return [{ type, names }];
}

async function everything(client: Client): Promise<{ type: string; names: string }[]> {
  const all: { type: string; names: string }[] = [];
  for (const type of (await client.get('/definitions')) as string[]) {
    const names = await readNames(client, type, true);
    if (names.length > 0) all.push({ type, names: names.join(',') });
  }
  return all;
}
