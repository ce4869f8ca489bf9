import type { Client } from '../client.ts';
import { type Invocation, xcatCommand } from '../command.ts';
import { changing } from '../common-options.ts';
import {
  type DefinitionCall,
  definitionOptions,
  readCall,
  refuseOptions,
  withWrongCalls,
  Wrong,
} from '../definitions/arguments.ts';
import { missingText, readNames } from '../definitions/reading.ts';
import { reportRefusal } from '../definitions/writing.ts';
import { errorLine, referenceVersion, resultLine } from '../lines.ts';
import { removalConfirmed } from '../nodes/confirm.ts';
import { flag, refused } from '../options.ts';

interface Removed {
  readonly removed: readonly string[];
  readonly missing: readonly { readonly type: string; readonly name: string }[];
}

export const rmdef = xcatCommand({
  usage: `Usage: rmdef [-t TYPE] [-o NAMES | NODERANGE] [-V]
       rmdef -a -f
       rmdef [-h | -v]

Removes definitions, all of them in one change. It names what does not exist, and removes the rest.`,
  options: {
    ...definitionOptions,
    'all|a': flag('remove everything; needs -f'),
    'force|f': flag('also images that nodes are set to; needed with -a'),
    'verbose|V': flag('name what was removed'),
    C: refused('muster has no service nodes whose copies could stay.'),
  },
  version: `rmdef - Version ${referenceVersion}`,
  bare: 0,
  common: changing,
  refuse: refuseOptions('Invalid flag specified, see rmdef manpage for details.'),
  run: (invocation, options) =>
    withWrongCalls(invocation, rmdef.usage, () => remove(readCall(options, invocation), invocation)),
});

async function remove(call: DefinitionCall, invocation: Invocation): Promise<number> {
  const { client, stdout, stderr, env } = invocation;
  const definitions = await named(call, client);
  const body = { definitions, missing: 'skip', ...(call.options.flag('force') ? { force: true } : {}) };
  let done: Removed;
  try {
    if (!(await removalConfirmed(invocation, { at: '/definitions', body }, call.options.common))) return 1;
    done = (await client.call('DELETE', '/definitions', { body })).body as Removed;
  } catch (error) {
    return reportRefusal(error, invocation, definitions[0] ?? { type: '', names: '' }, () => false);
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
  { options, types, names, attributes }: DefinitionCall,
  client: Client,
): Promise<{ type: string; names: string }[]> {
  const [attribute] = Object.keys(attributes);
  // Taken for a condition it would remove more than was meant.
  if (attribute !== undefined)
    throw new Wrong(
      `rmdef takes no attributes, so "${attribute}=${attributes[attribute]}" is wrong; lsdef -w ${attribute}==VALUE finds names.`,
      true,
    );
  if (options.flag('all') && types.length > 0)
    throw new Wrong("The flags '-a' and '-t' cannot be used together.", true);
  if (options.flag('all') && !options.flag('force'))
    throw new Wrong("You must use the '-f' option when using the '-a' option.", true);
  // A word that may have been meant for a name is no reason to remove more than that.
  const hasName = options.has('o') || options.operands.length > 0;
  if (options.flag('all') && hasName)
    throw new Wrong('-a removes the objects of all types: give either -a or the names of objects.', true);
  if (options.flag('all')) return everything(client);
  // All names are looked up under the first type, as xCAT does.
  const type = types[0] ?? 'node';
  if (type === 'site' && !hasName) return [{ type, names: site }];
  if (names === undefined) throw new Wrong('No object names were provided.', true);
  if (type === 'site' && names !== site) throw new Wrong(missingText(names, type));
  return [{ type, names }];
}

/** The one object of its type, with all attributes of the site. */
const site = 'clustersite';

async function everything(client: Client): Promise<{ type: string; names: string }[]> {
  const all: { type: string; names: string }[] = [];
  for (const type of (await client.get('/definitions')) as string[]) {
    const names = await readNames(client, type, true);
    if (names.length > 0) all.push({ type, names: names.join(',') });
  }
  return all;
}
