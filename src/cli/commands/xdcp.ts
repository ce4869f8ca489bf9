import { path } from '../client.ts';
import { type Invocation, say, xcatCommand } from '../command.ts';
import { onNodes } from '../common-options.ts';
import { Refused, UsageError } from '../errors.ts';
import { errorLine, referenceVersion } from '../lines.ts';
import { copyRequest, missingSource, serverFiles, serverPath } from '../nodes/copies.ts';
import { codeOf } from '../nodes/node-command.ts';
import { pull } from '../nodes/pulls.ts';
import { namesIn, workOnNodes } from '../nodes/work.ts';
import { filled, flag, refused } from '../options.ts';
import type { NoSuchSource } from '../own-files.ts';

const bySsh = 'muster copies by SSH alone.';

export const xdcp = xcatCommand({
  usage: `Usage: xdcp NODERANGE FILE... PLACE
       xdcp NODERANGE -R DIRECTORY... PLACE
       xdcp NODERANGE -F SYNCLIST
       xdcp NODERANGE -P [-R] [--replace] FILE... DIRECTORY

  Copies files of this machine to nodes.`,
  options: {
    'F|File': filled('SYNCLIST', 'copy the files of a synclist that differ; both are of the management node'),
    ...serverFiles,
    'P|pull': flag('fetch files of the nodes into DIRECTORY of this machine, as FILE._NODE'),
    replace: flag('with -P: replace files that are there already'),
    'R|recursive': flag('copy directories recursively (always on); with -P: FILE is a directory of the nodes'),
    'p|preserve': flag('keep modes and times (always on)'),
    'V|version': flag('show the version'),
    'f|fanout': refused('muster chooses how many nodes it copies to at once.', 'value'),
    'l|user': refused('muster copies as root; change the owner with xdsh afterwards.', 'value'),
    't|timeout': refused('muster gives up nodes by its own timeouts.', 'value'),
    'q|show-config': refused('there is nothing to configure.'),
    'Q|silent': refused('redirect the output.'),
    'v|verify': refused('muster always says which nodes do not answer.'),
    'T|trace': refused('muster has no traces of copies.'),
    's|synchronize': refused('muster has no service nodes; -F alone brings the files to nodes.'),
    'B|bypass': flag('ignore the environment of the caller (always on)'),
    'L|no-locale': flag('do not pass on the locale of the caller (always on)'),
    X: refused('the environment of the caller is not looked at.', 'value'),
    'r|node-rcp': refused(bySsh, 'value'),
    'o|node-options': refused(bySsh, 'value'),
    'i|rootimg': refused('files of an image are its synclist; packimage puts them there.', 'value'),
    'c|cleanup': refused('muster leaves nothing behind to clean up.'),
  },
  version: false,
  common: onNodes,
  async run(invocation, call) {
    const { stderr } = invocation;
    if (call.flag('V')) return say(invocation, `Version ${referenceVersion}\n`);
    const [range, ...operands] = call.operands;
    if (range === undefined) return say(invocation, 'Node range not specified, see man page for syntax.\n', 1);
    const list = call.value('F');
    if (list === undefined && operands.length === 0) {
      stderr.line('No parameters were supplied on the xdcp command. Run xdcp -h');
      return 1;
    }
    const [pulls, replaces] = [call.flag('P'), call.flag('replace')];
    if (list !== undefined && (pulls || replaces))
      throw new UsageError('-F copies to nodes: it does not go together with -P and --replace.');
    if (pulls && call.flag('server-files'))
      throw new UsageError(
        '-P copies into a directory of this machine: it does not go together with --server-files. Run it on the management node instead.',
      );
    if (list !== undefined) {
      if (operands[0] !== undefined)
        throw new UsageError(
          `"${operands[0]}" is one word too many: with -F the synclist names the files and their places.`,
        );
      const body = { synclist: serverPath(invocation, list) };
      const request = { method: 'POST', at: path('nodes', range, 'filesyncing'), body } as const;
      return codeOf(await workOnNodes(invocation, request, { lines: () => [], failure }, call.common));
    }
    const target = operands.pop()!;
    if (operands.length === 0)
      throw new UsageError(`The place is missing behind "${target}": write xdcp NODERANGE FILE... PLACE.`);
    if (replaces && !pulls)
      throw new UsageError('--replace is for files that -P fetches; copies to nodes always replace files.');
    if (target === '')
      throw new UsageError('An empty word ("") names no place: give the directory or file that is meant.');
    if (pulls)
      return pull(
        invocation,
        {
          range,
          wanted: operands,
          target: { directory: target, replace: replaces },
          recursive: call.flag('R'),
        },
        call.common,
      );
    try {
      const request = copyRequest(invocation, call, { range, sources: operands, target });
      return codeOf(await workOnNodes(invocation, request, { lines: () => [], failure }, call.common));
    } catch (error) {
      const missing = missingSource(error);
      if (missing) return notThere(invocation, range, missing);
      if (!(error instanceof Refused) || error.missing.length > 0) throw error;
      for (const sentence of error.sentences) stderr.line(errorLine(sentence, invocation.client.server));
      return 1;
    }
  },
});

/** What scp would say of it: on standard output, an empty line behind each. */
const failure = ({ node, error }: { readonly node?: string; readonly error?: string }) => ({
  stdout: [`${node}: ${error}`, ''],
});

/** As scp says it of each node. */
async function notThere(
  { client, stdout }: Invocation,
  range: string,
  { path: file, message }: NoSuchSource,
): Promise<number> {
  for (const node of await namesIn(client, range))
    stdout.write(`${node}: /usr/bin/scp: stat local "${file}": ${message}\n\n`);
  return 1;
}
