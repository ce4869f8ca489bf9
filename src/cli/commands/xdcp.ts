import { path } from '../client.ts';
import { Refused } from '../client-errors.ts';
import { told } from '../familiar.ts';
import type { CliCommand, Invocation } from '../invocation.ts';
import { errorLine, referenceVersion } from '../lines.ts';
import { namesIn } from '../nodes/confirm.ts';
import { workOnNodes } from '../nodes/node-work.ts';
import { takeOwnOptions } from '../nodes/own-options.ts';
import { asksHelp } from '../nodes/range-words.ts';
import { parseOptions } from '../options.ts';

const usage = `Usage: xdcp NODERANGE FILE... PLACE
       xdcp NODERANGE -R DIRECTORY... PLACE
       xdcp NODERANGE -F SYNCLIST
       xdcp NODERANGE -P [--replace] FILE... DIRECTORY

  Copies files of the management node to nodes. -F: those of a synclist, as far as they differ. -P: files of the nodes to DIRECTORY
  here, each with ._NODE behind its name; files that are there already are replaced only with --replace.`;

export const command: CliCommand = {
  usage,
  async run(invocation) {
    const { stdout, stderr } = invocation;
    const { own, rest } = takeOwnOptions(invocation.argv);
    if (rest.some(asksHelp)) return told({ stdout }, usage);
    const options = parseOptions(rest, {
      'V|version': 'flag',
      'R|recursive': 'flag',
      'P|pull': 'flag',
      'F|File': 'value',
      'f|fanout': 'value',
      'l|user': 'value',
      't|timeout': 'value',
      'p|preserve': 'flag',
      'q|show-config': 'flag',
      'Q|silent': 'flag',
      'v|verify': 'flag',
      'T|trace': 'flag',
      's|stream': 'flag',
      'r|node-rcp': 'value',
      'o|node-options': 'value',
      'i|rootimg': 'value',
      'c|cleanup': 'flag',
      replace: 'flag',
    });
    if (options.flag('V')) return told({ stdout }, `Version ${referenceVersion}\n`);
    const [range, ...operands] = options.operands;
    if (range === undefined) return told({ stdout }, 'Node range not specified, see man page for syntax.\n', 1);
    const list = options.value('F');
    if (list === undefined && operands.length === 0) {
      stderr.line('No parameters were supplied on the xdcp command. Run xdcp -h');
      return 1;
    }
    if (list !== undefined) {
      const request = { method: 'POST', at: path('nodes', range, 'filesyncing'), body: { synclist: list } } as const;
      return codeOf(await workOnNodes(invocation, request, { lines: () => [], failure }, own));
    }
    const target = operands.pop()!;
    if (operands.length === 0 || (options.flag('replace') && !options.flag('P'))) return told({ stdout }, usage, 1);
    if (options.flag('P')) {
      const { pull } = await import('../nodes/pull.ts');
      return pull(invocation, range, operands, { directory: target, replace: options.flag('replace') }, own);
    }
    return copy(invocation, range, operands, target, own);
  },
};

const codeOf = ({ failed }: { failed: number }): number => (failed > 0 ? 1 : 0);

/** What scp would say of it: on standard output, an empty line behind each. */
const failure = ({ node, error }: { readonly node?: string; readonly error?: string }) => ({
  stdout: [`${node}: ${error}`, ''],
});

async function copy(
  invocation: Invocation,
  range: string,
  src: readonly string[],
  target: string,
  own: Parameters<typeof workOnNodes>[3],
): Promise<number> {
  const { client, stdout, stderr } = invocation;
  const request = { method: 'POST', at: path('nodes', range, 'nodecopy'), body: { src, target } } as const;
  try {
    return codeOf(await workOnNodes(invocation, request, { lines: () => [], failure }, own));
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
