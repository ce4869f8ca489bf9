import { path, type StreamLine } from '../client.ts';
import type { CliCommand } from '../invocation.ts';
import { referenceVersion } from '../lines.ts';
import { workOnNodes } from '../nodes/node-work.ts';
import { takeOwnOptions } from '../nodes/own-options.ts';
import { Pieces, outputOf, textLines, unreached } from '../nodes/remote-lines.ts';
import { asksHelp, asksVersion } from '../nodes/range-words.ts';
import { tellUnknown } from '../nodes/unknown-nodes.ts';
import type { Said } from '../nodes/result-writer.ts';

const usage = `Usage: psh [-l USER] [-f NUMBER] [-i SUFFIX] NODERANGE COMMAND...

  Runs a command on nodes. What it says on either stream is printed behind the name of its node.`;

export const command: CliCommand = {
  usage,
  async run(invocation) {
    const { stdout } = invocation;
    const at = firstOperand(invocation.argv);
    const { own, rest } = takeOwnOptions(invocation.argv, at);
    const options = rest.slice(0, firstOperand(rest));
    const [range, ...words] = rest.slice(options.length);
    if (options.some(asksHelp)) stdout.line(usage);
    else if (options.some(asksVersion)) stdout.line(`Version ${referenceVersion}`);
    else if (range !== undefined && words.length > 0) {
      const raw = options.filter((option, index) => /^-[lf]/.test(option) || /^-[lf]$/.test(options[index - 1] ?? ''));
      const request = {
        method: 'POST',
        at: path('nodes', range, 'nodeshell'),
        body: { command: words.join(' '), raw },
      } as const;
      try {
        const { failed } = await workOnNodes(invocation, request, telling(), own);
        return failed > 0 ? 1 : 0;
      } catch (error) {
        return tellUnknown(error, invocation, 0);
      }
    }
    return 0;
  },
};

function firstOperand(argv: readonly string[]): number {
  let at = 0;
  while (at < argv.length && argv[at]!.startsWith('-')) at += /^-[lfi]$/.test(argv[at]!) ? 2 : 1;
  return at;
}

function telling() {
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
