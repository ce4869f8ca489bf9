import { basename } from 'node:path';
import { path, type StreamLine } from '../client.ts';
import { type Invocation, say, xcatCommand } from '../command.ts';
import { type CommonOptions, onNodes } from '../common-options.ts';
import { Refused } from '../errors.ts';
import { nodeFromServer, type ServerFiles, writeServerFile } from '../from-server.ts';
import { quoteWord } from '../../core/shell-words.ts';
import { errorLine, referenceVersion } from '../lines.ts';
import { codeOf } from '../nodes/node-command.ts';
import { outputOf, textLines, unreached } from '../nodes/remote-lines.ts';
import type { Said } from '../nodes/results.ts';
import { namesIn, workOnNodes } from '../nodes/work.ts';
import { flag, refused, valued } from '../options.ts';

/** Brings a file of every node here. It travels as text, so that any content arrives as it is. */
async function pull(
  invocation: Invocation,
  range: string,
  wanted: readonly string[],
  target: Pick<ServerFiles, 'directory' | 'replace'>,
  common: CommonOptions,
): Promise<number> {
  let code = 0;
  const nothing: Said = { stdout: [], stderr: [] };
  for (const file of wanted) {
    const files = { ...target, before: `${basename(file)}._`, mode: 0o666 };
    const parts = new Map<string, string[]>();
    const request = {
      method: 'POST',
      at: path('nodes', range, 'nodeshell'),
      body: { command: `base64 -- ${quoteWord(file)}` },
    } as const;
    const result = (line: StreamLine): Said => {
      const node = nodeFromServer(line.node!);
      if (line.error !== undefined) {
        const why = unreached(line) ?? textLines(outputOf(line).stderr).join(' ');
        return { stdout: [`${node}: ${why || line.error}`, ''], stderr: [] };
      }
      const text = parts.get(node)?.join('') ?? outputOf(line).stdout;
      parts.delete(node);
      try {
        writeServerFile(files, node, Buffer.from(text, 'base64'));
      } catch (error) {
        code = 1;
        return { stdout: [`${node}: ${(error as Error).message}`, ''], stderr: [] };
      }
      return nothing;
    };
    const piece = (node: string, stream: 'stdout' | 'stderr', text: string): Said => {
      if (stream !== 'stdout') return nothing;
      const kept = parts.get(node);
      if (kept) kept.push(text);
      else parts.set(node, [text]);
      return nothing;
    };
    const { failed } = await workOnNodes(invocation, request, { lines: () => [], result, piece }, common);
    if (failed > 0) code = 1;
  }
  return code;
}

const bySsh = 'muster copies by SSH alone.';

export const xdcp = xcatCommand({
  usage: `Usage: xdcp NODERANGE FILE... PLACE
       xdcp NODERANGE -R DIRECTORY... PLACE
       xdcp NODERANGE -F SYNCLIST
       xdcp NODERANGE -P [--replace] FILE... DIRECTORY

  Copies files of the management node to nodes.`,
  options: {
    'F|File': valued('SYNCLIST', 'copy the files of a synclist that differ'),
    'P|pull': flag('fetch files of the nodes into the local DIRECTORY, as FILE._NODE'),
    replace: flag('with -P: replace files that are there already'),
    'R|recursive': flag('copy directories recursively (always on)'),
    'p|preserve': flag('keep modes and times (always on)'),
    'V|version': flag('show the version'),
    'f|fanout': refused('muster chooses how many nodes it copies to at once.', 'value'),
    'l|user': refused('muster copies as root; change the owner with xdsh afterwards.', 'value'),
    't|timeout': refused('muster gives up nodes by its own timeouts.', 'value'),
    'q|show-config': refused('there is nothing to configure.'),
    'Q|silent': refused('redirect the output.'),
    'v|verify': refused('muster always says which nodes do not answer.'),
    'T|trace': refused('muster has no traces of copies.'),
    's|stream': flag('print output as it arrives (always on)'),
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
    if (list !== undefined) {
      if (operands.length > 0) return say(invocation, xdcp.usage, 1);
      const request = { method: 'POST', at: path('nodes', range, 'filesyncing'), body: { synclist: list } } as const;
      return codeOf(await workOnNodes(invocation, request, { lines: () => [], failure }, call.common));
    }
    const target = operands.pop()!;
    if (operands.length === 0 || (call.flag('replace') && !call.flag('P'))) return say(invocation, xdcp.usage, 1);
    if (call.flag('P'))
      return pull(invocation, range, operands, { directory: target, replace: call.flag('replace') }, call.common);
    return copy(invocation, range, operands, target, call.common);
  },
});

/** What scp would say of it: on standard output, an empty line behind each. */
const failure = ({ node, error }: { readonly node?: string; readonly error?: string }) => ({
  stdout: [`${node}: ${error}`, ''],
});

async function copy(
  invocation: Invocation,
  range: string,
  src: readonly string[],
  target: string,
  common: CommonOptions,
): Promise<number> {
  const { client, stdout, stderr } = invocation;
  const request = { method: 'POST', at: path('nodes', range, 'nodecopy'), body: { src, target } } as const;
  try {
    return codeOf(await workOnNodes(invocation, request, { lines: () => [], failure }, common));
  } catch (error) {
    const missing =
      error instanceof Refused
        ? /^There is no file (.*) on the management node\.$/.exec(error.sentences[0]!)
        : undefined;
    if (!missing) {
      if (!(error instanceof Refused) || error.missing.length > 0) throw error;
      for (const sentence of error.sentences) stderr.line(errorLine(sentence, client.server));
      return 1;
    }
    for (const node of await namesIn(client, range))
      stdout.write(`${node}: /usr/bin/scp: stat local "${missing[1]}": No such file or directory\n\n`);
    return 1;
  }
}
