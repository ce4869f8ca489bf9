import { path } from '../client.ts';
import { type Invocation, refuseByName, say, xcatCommand } from '../command.ts';
import { type CommonOptions, onNodes } from '../common-options.ts';
import { Refused, UsageError } from '../errors.ts';
import { ignoredLine } from '../lines.ts';
import { type NodeRequest, workOnNodes } from '../nodes/work.ts';
import { flag, refused, verbose } from '../options.ts';

const onlyAix = 'it is for AIX alone.';

export const updatenode = xcatCommand({
  usage: `Usage: updatenode NODERANGE [-F] [-S] [-P [SCRIPT,...]]
       updatenode NODERANGE SCRIPT,...

  Brings nodes up to date; without options it does all of these. Scripts alone are the same as with -P.`,
  options: {
    'F|sync': flag('files of the synclists of their images'),
    'S|sw': flag('packages of their images'),
    'P|scripts': { kind: 'optional', value: '[SCRIPT,...]', help: 'postscripts, all of each node or the named ones' },
    ...verbose,
    'n|noverify': flag('do not check first whether nodes answer (always on)'),
    'f|snsync': 'flag',
    'l|user': refused('muster works as root on the nodes.', 'value'),
    'k|security': refused('xdsh -K hands out the key of muster.'),
    't|timeout': refused('muster gives up nodes by its own timeouts.', 'value'),
    fanout: refused('muster chooses how many nodes it works on at once.', 'value'),
    'g|genmypost': refused('muster makes the script of a node when it runs it; no file has to be made before.'),
    's|sn': refused('nodes need no file that names their server.'),
    'r|node-rcp': refused('muster copies by SSH alone.', 'value'),
    'A|updateallsw': refused(onlyAix),
    'c|cmdlineonly': refused(onlyAix),
    d: refused(onlyAix, 'value'),
    'o|os': refused(onlyAix, 'value'),
  },
  operands: 2,
  common: onNodes,
  refuse: refuseByName,
  async run(invocation, options) {
    const { stderr } = invocation;
    const [range, named] = options.operands;
    if (range === undefined) return say(invocation, updatenode.usage, 1);
    if (named?.includes('='))
      throw new UsageError(`"${named}" is not supported here: attributes of software are for AIX alone.`);
    if (named !== undefined && ['F', 'S', 'P', 'f'].some((name) => options.has(name)))
      return say(invocation, `${updatenode.usage}\n\n"${named}" is one word too many; name scripts behind -P.`, 1);
    if (options.flag('f')) {
      stderr.line(
        options.flag('F')
          ? 'Choose either -f to sync the service nodes, or -F  to sync the nodes not both.'
          : 'Error: -f is not supported here: there are no service nodes; -F brings the files to nodes.',
      );
      return 1;
    }
    // It would mean all scripts of each node.
    if (range !== '' && invocation.argv.includes(''))
      throw new UsageError('An empty word ("") names no script: -P alone runs all, and -P SCRIPT,... those named.');
    const scripts = options.value('P') ?? named ?? '';
    const steps = [
      ...(options.flag('F') ? [{ word: 'filesyncing' }] : []),
      ...(options.flag('S') ? [{ word: 'sw' }] : []),
      ...(options.has('P') || named !== undefined
        ? [{ word: 'postscript', body: scripts === '' ? {} : { scripts: scripts.split(',') } }]
        : []),
    ];
    let code = 0;
    for (const { word, body } of steps.length > 0 ? steps : [{ word: 'updating', body: undefined }]) {
      const request = { method: 'POST', at: path('nodes', range, word), ...(body ? { body } : {}) } as const;
      // As recorded: of a script of -P that is not there it is said, with status 0.
      code = Math.max(code, await carryOut(invocation, request, options.common, options.has('P') ? 0 : 1));
    }
    return code;
  },
});

const synced = 'File synchronization has completed.';
/** What is true of many nodes is said once. */
const saidOnce = [
  'There were no syncfiles defined to process. File synchronization has completed.',
  'Performing software maintenance operations. This could take a while, if there are packages to install.',
];

async function carryOut(
  invocation: Invocation,
  request: NodeRequest,
  common: CommonOptions,
  codeOfMissing: number,
): Promise<number> {
  const { stdout, stderr } = invocation;
  const done: string[] = [];
  const said = new Set<string>();
  const lines = (value: unknown, node: string): string[] =>
    (value as readonly string[]).filter((line) => {
      if (line === synced) done.push(node);
      else if (!saidOnce.includes(line)) return true;
      else if (!said.has(line)) stdout.line(line);
      said.add(line);
      return false;
    });
  try {
    const { failed } = await workOnNodes(invocation, request, { lines }, common);
    if (done.length > 0) stdout.line(`File synchronization has completed for nodes: "${done.sort().join(',')}"`);
    return failed > 0 ? 1 : 0;
  } catch (error) {
    // A script that is not there is reported like a result, and nothing is run.
    if (!(error instanceof Refused) || !error.reference.some((text) => text.includes('does not exist'))) throw error;
    for (const text of error.reference) stdout.line(text);
    const { scripts = [] } = (request.body ?? {}) as { scripts?: readonly string[] };
    stderr.line(
      ignoredLine(
        scripts.join(','),
        'a script is missing, so none was run. Correct its name, put it there, or leave it out.',
      ),
    );
    return codeOfMissing;
  }
}
