import { type Call, type Invocation, xcatCommand } from '../command.ts';
import { changing } from '../common-options.ts';
import {
  type DefinitionCall,
  definitionOptions,
  readCall,
  refuseOptions,
  withWrongCalls,
  Wrong,
} from '../definitions/arguments.ts';
import { countLine, definitionsOf, reportRefusal, warnOfCapitals, writingOptions } from '../definitions/writing.ts';
import type { Definition } from '../definitions/stanzas.ts';
import { errorLine, referenceVersion, resultLine, warningLine } from '../lines.ts';
import { flag, valued, verbose } from '../options.ts';

const isBareNode = ({ type, attributes }: Definition): boolean =>
  type === 'node' && Object.keys(attributes).length === 0;

interface Made {
  readonly created: readonly string[];
  readonly replaced: readonly string[];
  readonly kept: readonly string[];
  readonly unknownMembers: readonly string[];
}

export const mkdef = xcatCommand({
  usage: `Usage: mkdef [-t TYPE] [-o NAMES | NODERANGE] [-f] [--template NAME] ATTRIBUTE=VALUE...
       mkdef -t group -o NAME [-d] [-w CRITERION]...
       mkdef [-t osimage] [-o] NAME -u profile=PROFILE provmethod=METHOD [osvers=OS] [osarch=ARCH]
       mkdef -z [-f] < STANZAFILE
       mkdef [-h | -v]

Makes definitions. All of them are made in one change, or none.`,
  options: {
    ...definitionOptions,
    'force|f': flag('replace what exists; without it such objects are left as they are'),
    template: valued('NAME', 'begin with a template (lsdef --template lists them) or an existing object'),
    u: flag('of an image: fill in the files and directories that an image of this kind has after copycds'),
    ...writingOptions,
    ...verbose,
  },
  version: `mkdef - Version ${referenceVersion}`,
  bare: 0,
  common: changing,
  refuse: refuseOptions('Invalid option..'),
  run: (invocation, options) =>
    withWrongCalls(invocation, mkdef.usage, async () => {
      const isStanza = options.flag('stanza');
      const given = await definitionsOf(imageCall(readCall(options, invocation)), invocation, false);
      // For a node with nothing below its name the server says what it lacks.
      const definitions = given.map((each) =>
        isStanza && isBareNode(each) ? { ...each, attributes: { groups: '' } } : each,
      );
      return make(definitions, options, invocation);
    }),
});

/** With -u everything is an image, which need not be said. */
function imageCall(call: DefinitionCall): DefinitionCall {
  const { options, types } = call;
  if (!options.flag('u')) return call;
  if (options.flag('stanza')) throw new Wrong("The flags '-u' and '-z' cannot be used together.", true);
  if (types.some((type) => type !== 'osimage'))
    throw new Wrong("The '-u' option is for objects of type osimage.", true);
  return { ...call, types: ['osimage'] };
}

async function make(definitions: readonly Definition[], options: Call, invocation: Invocation): Promise<number> {
  const { client, stdout, stderr, env } = invocation;
  let made: Made;
  try {
    const body = {
      definitions,
      existing: options.flag('force') ? 'replace' : 'keep',
      members: 'skip',
      ...(options.has('template') ? { template: options.value('template') } : {}),
      ...(options.flag('u') ? { fill: true } : {}),
    };
    made = (await client.call('POST', '/definitions', { body })).body as Made;
  } catch (error) {
    // Of unknown attributes xCAT says no more than that.
    return reportRefusal(error, invocation, definitions[0]!, (line) => !isComplete(line));
  }
  const { server } = client;
  for (const name of made.kept)
    stderr.line(
      warningLine(
        `A definition for '${name}' already exists. No changes will be made.  Run again with '-f' option to force replace.`,
        server,
      ),
    );
  for (const name of made.unknownMembers)
    stderr.line(errorLine(`Could not find a node named '${name}', skipping to the next node.`, server));
  warnOfCapitals(invocation, definitions, [...made.created, ...made.replaced]);
  const present = new Set([...made.created, ...made.replaced]);
  for (const { type, names, attributes } of definitions)
    if (type === 'group' && present.has(names) && !attributes['members'] && attributes['grouptype'] !== 'dynamic')
      stderr.line(warningLine(`Cannot determine a member list for group '${names}'.`, server));
  const count = made.created.length + made.replaced.length;
  if (count === 0) stderr.line(errorLine(countLine(0), server));
  else stdout.line(resultLine(countLine(count), { env, server }));
  return count === 0 || made.unknownMembers.length > 0 ? 1 : 0;
}

const isComplete = (line: string): boolean =>
  /^(Skipping to|No object definitions|The object name|Could not find the template|The attribute|\nType)/.test(line);
