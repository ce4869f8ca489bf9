import { quoteWord } from '../../core/shell-words.ts';
import { path } from '../client.ts';
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
import { missingText } from '../definitions/reading.ts';
import { countLine, definitionsOf, reportRefusal, warnOfCapitals, writingOptions } from '../definitions/writing.ts';
import { Refused } from '../errors.ts';
import { errorLine, ignoredLine, referenceVersion, resultLine, warningLine } from '../lines.ts';
import { filled, flag } from '../options.ts';

const nothing = 'No object definitions have been created or modified.';

interface Changed {
  readonly changed: readonly string[];
  readonly created: readonly string[];
}

export const chdef = xcatCommand({
  usage: `Usage: chdef [-t TYPE] [-o NAMES | NODERANGE] [-p | -m] ATTRIBUTE=VALUE...
       chdef [-t TYPE] -o NAME -n NEWNAME
       chdef -t group -o NAME [-d] [-w CRITERION]...
       chdef -z [-p | -m] < STANZAFILE
       chdef [-h | -v]

Changes definitions, and creates missing ones if the attributes suffice. It changes all of them or none.
ATTRIBUTE= clears a value; then the value of a group counts again.`,
  options: {
    ...definitionOptions,
    'plus|p': flag('add to lists'),
    'minus|m': flag('take from lists'),
    n: filled('NEWNAME', 'give the object another name'),
    ...writingOptions,
    'verbose|V': flag('name the objects that were changed'),
    'force|f': 'flag',
    template: 'value',
  },
  version: `chdef - Version ${referenceVersion}`,
  bare: 0,
  common: changing,
  refuse: refuseOptions('Invalid option..'),
  run: (invocation, options) =>
    withWrongCalls(invocation, chdef.usage, () => change(readCall(options, invocation), invocation)),
});

async function change(call: DefinitionCall, invocation: Invocation): Promise<number> {
  const { options } = call;
  if (options.flag('force')) throw new Wrong("The '-f' option is not supported by the chdef command.", true);
  if (options.has('template')) throw new Wrong("The '--template' option is not supported by the chdef command.", true);
  const { client, stdout, stderr, env } = invocation;
  const newName = options.value('n');
  if (newName !== undefined) return rename(call, newName, invocation);
  const definitions = await definitionsOf(call, invocation, true);
  const say = (text: string) => stdout.line(resultLine(text, { env, server: client.server }));
  if (definitions.every(({ attributes }) => Object.keys(attributes).length === 0)) {
    await client.get('/definitions');
    say(nothing);
    return 0;
  }
  if (options.flag('plus') && options.flag('minus'))
    stderr.line(ignoredLine('-m', 'chdef adds to lists with -p, or takes from them with -m; give one of both.'));
  const mode = options.flag('plus') ? 'append' : options.flag('minus') ? 'remove' : 'set';
  let done: Changed;
  try {
    done = (await client.call('PUT', '/definitions', { body: { definitions, mode } })).body as Changed;
  } catch (error) {
    const code = reportRefusal(error, invocation, definitions[0]!, (line) => !isComplete(line));
    if (error instanceof Refused && error.reference.some(isNotThere)) say(nothing);
    return code;
  }
  warnOfCapitals(invocation, definitions, done.created);
  const created = [...done.created];
  let count = done.changed.length + created.length;
  const [{ type } = { type: '' }] = definitions;
  // There is but one site, whatever it is called here; xCAT counts and names the other too.
  if (type === 'site' && !options.flag('stanza') && call.names !== undefined && call.names !== 'clustersite') {
    stderr.line(
      ignoredLine(
        `"${call.names}"`,
        'there is one site, clustersite, and its attributes were set; write chdef -t site ATTRIBUTE=VALUE.',
      ),
    );
    created.push(call.names);
    count += 1;
  }
  say(countLine(count));
  if (created.length > 0) say(`New object definitions '${created.join(',')}' have been created.`);
  if (options.flag('verbose'))
    say(`The database was updated for the following objects:\n\n${[...done.changed, ...done.created].join('\n')}`);
  return 0;
}

/** What a list does not have cannot be taken from it. */
const isNotThere = (line: string): boolean =>
  line.includes(' is not in the attribute of ') || line.startsWith('No value got for attribute ');

const isComplete = (line: string): boolean =>
  isNotThere(line) || /^(chdef does not support|The object name|\nType)/.test(line);

async function rename(call: DefinitionCall, newName: string, invocation: Invocation): Promise<number> {
  const { types, names, options, attributes } = call;
  const { client, stdout, stderr, env } = invocation;
  if (['dynamic', 'plus', 'minus', 'stanza', 'w'].some((option) => options.has(option)))
    throw new Wrong("Cannot combine '-n' and '-d','-p','-m','-z','-w'.", true);
  if (Object.keys(attributes).length > 0)
    throw new Wrong("The '-n' option changes the name alone: set attributes by another call.", true);
  const type = types[0] ?? 'node';
  if (names === undefined) throw new Wrong('No object names were provided.', true);
  const several = "The '-n' option (changing object name) can only work on one object.";
  if (/[,[\]@]/.test(names)) throw new Wrong(several, true);
  try {
    await client.call('PUT', path('definitions', type, names, 'rename'), { body: { name: newName } });
  } catch (error) {
    if (!(error instanceof Refused) || error.isDenied) throw error;
    if (error.sentences.some((sentence) => sentence.includes('must name one'))) throw new Wrong(several, true);
    const lines =
      error.kind === 'unknown-object'
        ? error.missing.map((name) => missingText(name, type))
        : error.reference.length > 0
          ? error.reference
          : error.sentences;
    for (const line of lines) stderr.line(errorLine(line, client.server));
    return 1;
  }
  stdout.line(resultLine(`Changed the object name from ${names} to ${newName}.`, { env, server: client.server }));
  await tellUsers(invocation, type, names, newName);
  return 0;
}

/** As in xCAT, nodes go on with the old name: says which command gives them the new one. */
async function tellUsers({ client, stderr }: Invocation, type: string, old: string, now: string): Promise<void> {
  const users = type === 'group' ? old : type === 'osimage' ? `nodetype.provmethod==${old}` : undefined;
  if (users === undefined || client.mode !== 'usual') return;
  let nodes: readonly string[];
  try {
    nodes = (await client.get(path('nodes', users, 'nodels'), { aside: true })) as string[];
  } catch (error) {
    if (error instanceof Refused) return;
    throw error;
  }
  if (nodes.length === 0) return;
  const remedy =
    type === 'group'
      ? `chdef ${old} -p groups=${now}, and then chdef ${old} -m groups=${old}`
      : `chdef ${quoteWord(users)} provmethod=${now}`;
  const attribute = type === 'group' ? 'groups' : 'provmethod';
  const who = nodes.length === 1 ? `${nodes[0]!} keeps` : `${nodes.length} nodes keep`;
  stderr.line(warningLine(`${who} ${old} in ${attribute}. To change that, run ${remedy}.`, client.server));
}
