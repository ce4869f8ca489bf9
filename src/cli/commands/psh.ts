import { path } from '../client.ts';
import type { StreamLine } from '../replies.ts';
import { type Call, type CliCommand, type Invocation, say, xcatCommand } from '../command.ts';
import { onNodes } from '../common-options.ts';
import { outputOf, Pieces, reportUnknown, textLines, unreached, warnOfLateOption } from '../nodes/remote-lines.ts';
import type { Said } from '../nodes/results.ts';
import { codeOf } from '../nodes/node-command.ts';
import { workOnNodes } from '../nodes/work.ts';
import { readObjects } from '../definitions/reading.ts';
import { Refused, UsageError } from '../errors.ts';
import { flag, type OptionTable, refused, valued, writtenName } from '../options.ts';
import { copyRequest, missingSource, serverFiles } from '../nodes/copies.ts';
import { errorLine } from '../lines.ts';

export const psh = xcatCommand({
  usage: `Usage: psh [-l USER] [-f NUMBER] [-n] NODERANGE COMMAND...

  Runs a command on nodes. Each line of output begins with the name of the node.`,
  options: {
    l: valued('USER', 'as this user of the nodes'),
    f: valued('NUMBER', 'work on this many nodes at a time'),
    'n|nonodecheck': flag('accepted for scripts; muster always checks the noderange'),
    i: refused('muster reaches nodes at their own address only; leave -i out.', 'value'),
    t: refused('use xdsh, which has a timeout: xdsh NODERANGE -t SECONDS COMMAND.', 'value'),
  },
  // Options may stand behind the noderange too: no command begins with a dash.
  rules: { optionsEndAt: 2 },
  common: onNodes,
  async run(invocation, call) {
    const [range, ...words] = call.operands;
    checkCall(call);
    if (range === undefined) return 0;
    warnOfLateOption(invocation, words);
    const raw = ['l', 'f'].flatMap((name) => (call.has(name) ? [`-${name}`, call.value(name)!] : []));
    const request = {
      method: 'POST',
      at: path('nodes', range, 'nodeshell'),
      body: { command: words.join(' '), raw },
    } as const;
    try {
      return codeOf(await workOnNodes(invocation, request, printedLines(), call.common));
    } catch (error) {
      if (call.common.format || !(await isAllUnknown(invocation, range, error))) throw error;
      return reportUnknown(error, invocation, 0);
    }
  },
});

/** As xCAT's psh has it, a range without any node that exists is only warned of. With others beside it the command was to be run there. */
async function isAllUnknown({ client }: Invocation, range: string, error: unknown): Promise<boolean> {
  if (!(error instanceof Refused) || error.missing.length === 0) return false;
  try {
    const known = await readObjects(client, { type: 'node', names: range, attributes: [], hidden: true });
    return known.objects.size === 0;
  } catch (denied) {
    if (denied instanceof Refused) return false;
    throw denied;
  }
}

/** An option without its value takes the noderange for it, and the command becomes the noderange. */
function checkCall({ operands: [range, ...words], value }: Call): void {
  const fanout = value('f');
  if (fanout !== undefined && !/^\d+$/.test(fanout))
    throw new UsageError(`-f takes a number of nodes, not "${fanout}": psh -f NUMBER NODERANGE COMMAND.`);
  if (range === undefined || words.join('').trim() !== '') return;
  const user = value('l');
  const taken = user === undefined ? '' : ` -l has taken "${user}" as the user.`;
  throw new UsageError(
    `There is no command to run on ${range}.${taken} Write psh [-l USER] [-f NUMBER] NODERANGE COMMAND; muster has no interactive psh.`,
  );
}

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

/** What rsync does with these is what muster does always, or changes nothing on the node. */
const alwaysOn = new Set(['a', 'c', 'h', 'l', 'p', 'q', 'r', 't', 'v', 'z']);
const alwaysOnLong = new Set([
  'archive',
  'checksum',
  'compress',
  'links',
  'perms',
  'quiet',
  'recursive',
  'times',
  'verbose',
]);

/** Options of rsync as `prsync -o` has them, `crz` or `-crz --times`; any that would change what is copied is refused by its name. */
function checkRsyncOptions(text: string): void {
  for (const word of text.split(/\s+/).filter((each) => each !== '')) {
    const isLong = word.startsWith('--');
    const names = isLong ? [word.slice(2)] : word.replace(/^-/, '').split('');
    const other = names.find((name) => !(isLong ? alwaysOnLong : alwaysOn).has(name));
    if (other !== undefined)
      throw new UsageError(
        `-o: the option ${writtenName(other)} of rsync is not supported here: muster copies all files by SFTP, with their modes and times; xdcp -F sends only files that differ.`,
      );
  }
}

/** `NAME FILE... NODERANGE:PLACE`: copies from this machine to nodes. */
function copyCommand(name: string, more: OptionTable): CliCommand {
  const command = xcatCommand({
    usage: `Usage: ${name} FILE... NODERANGE:PLACE

  Copies files and directories of this machine to nodes.`,
    options: {
      ...serverFiles,
      ...more,
      'f|fanout': refused('muster chooses how many nodes it copies to at once.', 'value'),
    },
    common: onNodes,
    async run(invocation, call) {
      checkRsyncOptions(call.value('o') ?? '');
      const operands = [...call.operands];
      const to = operands.pop() ?? '';
      const colon = to.indexOf(':');
      if (operands.length === 0 || colon < 1) return say(invocation, command.usage, 1);
      const [range, target] = [to.slice(0, colon), to.slice(colon + 1) || '.'];
      const report = {
        lines: () => ['done'],
        failure: ({ node, error }: StreamLine) => ({ stderr: [`${node}: ${error}`] }),
      };
      try {
        const request = copyRequest(invocation, call, { range, sources: operands, target });
        return codeOf(await workOnNodes(invocation, request, report, call.common));
      } catch (error) {
        const missing = missingSource(error);
        if (missing) {
          invocation.stderr.line(errorLine(`${missing.path}: ${missing.message}`));
          return 1;
        }
        throw error;
      }
    },
  });
  return command;
}

export const pscp = copyCommand('pscp', {
  r: flag('accepted for scripts; directories are always copied with all that is in them'),
  p: flag('accepted for scripts; modes and times are always kept'),
  i: refused('muster reaches nodes at their own address only; leave -i out.', 'value'),
});
export const prsync = copyCommand('prsync', {
  'o|rsyncopts': valued('OPTIONS', 'options of rsync, such as crz; those that muster cannot do are refused'),
});
