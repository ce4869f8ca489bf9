import { path, type StreamLine } from '../client.ts';
import { type CliCommand, say, xcatCommand } from '../command.ts';
import { onNodes } from '../common-options.ts';
import { outputOf, Pieces, reportUnknown, textLines, unreached } from '../nodes/remote-lines.ts';
import type { Said } from '../nodes/results.ts';
import { workOnNodes } from '../nodes/work.ts';
import { refused, valued } from '../options.ts';

export const psh = xcatCommand({
  usage: `Usage: psh [-l USER] [-f NUMBER] NODERANGE COMMAND...

  Runs a command on nodes. Each line of output begins with the name of the node.`,
  options: {
    l: valued('USER', 'as this user of the nodes'),
    f: valued('NUMBER', 'work on this many nodes at a time'),
    i: refused('muster reaches nodes at their own address only; leave -i out.', 'value'),
  },
  rules: { optionsEndAt: 1 },
  common: onNodes,
  async run(invocation, call) {
    const [range, ...words] = call.operands;
    if (range === undefined || words.length === 0) return 0;
    const raw = ['l', 'f'].flatMap((name) => (call.has(name) ? [`-${name}`, call.value(name)!] : []));
    const request = {
      method: 'POST',
      at: path('nodes', range, 'nodeshell'),
      body: { command: words.join(' '), raw },
    } as const;
    try {
      const { failed } = await workOnNodes(invocation, request, printedLines(), call.common);
      return failed > 0 ? 1 : 0;
    } catch (error) {
      return reportUnknown(error, invocation, 0);
    }
  },
});

function printedLines() {
  const pieces = new Pieces();
  return {
    lines: () => [],
    piece: (node: string, stream: 'stdout' | 'stderr', text: string): Said => ({
      stdout: pieces.lines(node, stream, text).map((line) => `${node}: ${line}`),
      stderr: [],
    }),
    result(line: StreamLine): Said {
      const node = line.node!;
      const reason = unreached(line);
      const { stdout, stderr, code } = outputOf(line);
      const texts =
        reason === undefined
          ? [...textLines(pieces.rest(node, 'stdout') ?? stdout), ...textLines(pieces.rest(node, 'stderr') ?? stderr)]
          : [`${reason}\r`];
      const ended = `${node}: *** ssh exited with error code ${reason === undefined ? (code ?? 255) : 255}.`;
      return { stdout: texts.map((text) => `${node}: ${text}`), stderr: line.error === undefined ? [] : [ended] };
    },
  };
}

/** `NAME FILE... NODERANGE:PLACE`: copies from the management node to nodes. */
function copyCommand(name: string): CliCommand {
  const command = xcatCommand({
    usage: `Usage: ${name} FILE... NODERANGE:PLACE

  Copies files and directories of the management node to nodes.`,
    common: onNodes,
    async run(invocation, call) {
      const operands = [...call.operands];
      const to = operands.pop() ?? '';
      const colon = to.indexOf(':');
      if (operands.length === 0 || colon < 1) return say(invocation, command.usage, 1);
      const [range, target] = [to.slice(0, colon), to.slice(colon + 1) || '.'];
      const body = { src: operands, target };
      const report = {
        lines: () => ['done'],
        // It is done with the node either way; why it came to nothing stands apart.
        failure: ({ node, error }: StreamLine) => ({ stdout: [`${node}: done`], stderr: [`${node}: ${error}`] }),
      };
      try {
        await workOnNodes(
          invocation,
          { method: 'POST', at: path('nodes', range, 'nodecopy'), body },
          report,
          call.common,
        );
        return 0;
      } catch (error) {
        return reportUnknown(error, invocation, 0);
      }
    },
  });
  return command;
}

export const pscp = copyCommand('pscp');
export const prsync = copyCommand('prsync');
