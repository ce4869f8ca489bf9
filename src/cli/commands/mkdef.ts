import { readCall, tellWrong, told, Wrong } from '../definitions/arguments.ts';
import {
  countLine,
  type Definition,
  definitionsOf,
  separator,
  tellRefusal,
  writingOptions,
} from '../definitions/writing.ts';
import type { CliCommand, Invocation } from '../invocation.ts';
import { errorLine, resultLine, warningLine } from '../lines.ts';

const usage = `Usage: mkdef [-t TYPE] [-o NAMES | NODERANGE] [-f] [--template NAME] ATTRIBUTE=VALUE...
       mkdef [-t group] -o NAME [-d] [-w CRITERION]...
       mkdef -z [-f] < STANZAFILE
       mkdef [-h | -v]

Makes definitions. All of them are made in one change, or none.

  -t TYPE          the type of the objects, node if absent
  -o NAMES         a node range; for other types names joined by commas
  -f               replaces what exists; without it such objects are left as they are
  --template NAME  begins with a template (lsdef --template lists them) or an existing object
  -d               a dynamic group, whose members are the nodes that meet the criteria at any time
  -w CRITERION     for groups: attr==value, attr!=value, attr=~pattern, attr!~pattern
  -z               reads definitions from standard input, as lsdef -z writes them`;

const isBareNode = ({ type, attributes }: Definition): boolean =>
  type === 'node' && Object.keys(attributes).length === 0;

interface Made {
  readonly created: readonly string[];
  readonly replaced: readonly string[];
  readonly kept: readonly string[];
  readonly unknownMembers: readonly string[];
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
      const call = readCall(argv, writingOptions);
      const shown = told(call, invocation, usage);
      if (shown !== undefined) return shown;
      const isStanza = call.options.flag('stanza');
      const given = await definitionsOf(call, invocation, false);
      // Of a node with nothing below its name it is told what it lacks.
      const definitions = given.map((each) =>
        isStanza && isBareNode(each) ? { ...each, attributes: { groups: '' } } : each,
      );
      return await make(definitions, call.options.value('template'), call.options.flag('force'), invocation);
    } catch (error) {
      if (!(error instanceof Wrong)) throw error;
      return tellWrongs(error, invocation, await client.serverName());
    }
  },
};

function tellWrongs(error: Wrong, invocation: Invocation, server: string | undefined): number {
  const [first, ...more] = error.message.split(separator);
  tellWrong(new Wrong(first!, error.usage), invocation, usage, server);
  for (const line of more) invocation.stderr.line(errorLine(line, server));
  return 1;
}

async function make(
  definitions: readonly Definition[],
  template: string | undefined,
  force: boolean,
  invocation: Invocation,
): Promise<number> {
  const { client, stdout, stderr, env } = invocation;
  let made: Made;
  try {
    const existing = force ? 'replace' : 'keep';
    const body = { definitions, existing, members: 'skip', ...(template === undefined ? {} : { template }) };
    made = (await client.call('POST', '/definitions', { body })).body as Made;
  } catch (error) {
    // Of unknown attributes the reference system says no more than that.
    return tellRefusal(error, invocation, definitions[0]!.names, (line) => !isComplete(line));
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
