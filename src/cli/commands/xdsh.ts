import { path } from '../client.ts';
import { type Call, type Invocation, xcatCommand } from '../command.ts';
import { onNodes } from '../common-options.ts';
import { UsageError } from '../errors.ts';
import { errorLine, nodeLine, referenceVersion } from '../lines.ts';
import { outputOf, Pieces, textLines, unreached, warnOfLateOption } from '../nodes/remote-lines.ts';
import type { Said } from '../nodes/results.ts';
import { namesIn, workOnNodes } from '../nodes/work.ts';
import { filled, flag, refused, valued } from '../options.ts';

const settings = [
  'DCP_DEVICE_OPTS',
  'DCP_DEVICE_RCP',
  'DCP_NODE_OPTS',
  'DCP_NODE_RCP',
  'DSH_CONTEXT',
  'DSH_DEVICE_LIST',
  'DSH_DEVICE_OPTS',
  'DSH_DEVICE_RCP',
  'DSH_DEVICE_RSH',
  'DSH_ENVIRONMENT',
  'DSH_FANOUT',
  'DSH_LOG',
  'DSH_NODEGROUP_PATH',
  'DSH_NODE_LIST',
  'DSH_NODE_OPTS',
  'DSH_NODE_RCP',
  'DSH_NODE_RSH',
  'DSH_OUTPUT',
  'DSH_PATH',
  'DSH_REPORT',
  'DSH_SYNTAX',
  'DSH_TIMEOUT',
  'DSH_VERIFY',
  'RSYNC_RSH',
];

const already = '(always on)';

export const xdsh = xcatCommand({
  usage: `Usage: xdsh NODERANGE [OPTIONS] COMMAND...

Runs a command on nodes. The exit status is the number of nodes that failed, at most 255.`,
  options: {
    'l|user': valued('USER', 'as this user of the nodes'),
    'f|fanout': valued('NUMBER', 'work on this many nodes at a time'),
    't|timeout': valued('SECONDS', 'give up a node that takes longer'),
    'e|execute': flag('COMMAND is a script of the management node and its arguments'),
    'E|environment': filled('FILE', 'a file of the management node with the environment'),
    'z|exit-status': flag('show the exit status'),
    'v|verify': flag('skip nodes that do not answer, and name them'),
    's|stream': flag(`print output as it arrives ${already}`),
    'm|monitor': flag('show the progress'),
    'Q|silent': flag('print nothing'),
    'K|ssh-setup|keysetup': flag("install muster's SSH key on the nodes; asks for the user's password"),
    sudo: flag('by sudo'),
    'q|show-config': flag('show the configuration'),
    'V|version': flag('show the version'),
    'L|no-locale': flag(`do not pass on the locale of the caller ${already}`),
    'B|bypass': flag(`ignore the environment of the caller ${already}`),
    noverify: flag('do not check first whether nodes answer'),
    'T|trace': refused('muster has no traces of commands; muster runs shows what was run.'),
    X: refused('the environment of the caller is not looked at.', 'value'),
    N: refused('name nodes and groups as the noderange.', 'value'),
    'i|rootimg': refused('commands run on nodes only; genimage runs the scripts of an image.', 'value'),
    'r|node-rsh': refused('commands go by SSH.', 'value'),
    'o|node-options': refused('muster sets the options of SSH itself.', 'value'),
    'S|syntax': refused("commands are for the user's own shell.", 'value'),
    'c|cleanup': refused('muster leaves nothing behind to clean up.'),
    devicetype: refused('only nodes with a POSIX shell are served.', 'value'),
    nodestatus: refused('nodestat shows it.'),
  },
  version: false,
  rules: { optionsEndAt: 2 },
  common: onNodes,
  async run(invocation, call) {
    const { env, stdout, stderr } = invocation;
    const [range, ...words] = call.operands;
    const verifies = call.flag('v');
    if (call.flag('V')) stdout.write(`Version ${referenceVersion}\n\n`);
    else if (range !== undefined && call.flag('q')) showSettings(invocation);
    else if (range === undefined) {
      stdout.write('Node range not specified, see man page for syntax.\n\n');
      return 1;
    } else if (words.length === 0 && !call.flag('K')) {
      stderr.line('No parameters were supplied on the xdsh command. Run xdsh -h');
      return 1;
    } else if (words.length > 0 && words.join('').trim() === '') {
      throw new UsageError(`There is no command to run on ${range}: an empty word ("") is none.`);
    } else {
      warnOfLateOption(invocation, words);
      const password = call.flag('K') ? (env['DSH_REMOTE_PASSWORD'] ?? (await askPassword(invocation))) : undefined;
      const body = {
        command: words.join(' '),
        raw: sentOptions.flatMap((name) => optionWords(call, name)),
        ...(password === undefined ? {} : { ENV: { DSH_REMOTE_PASSWORD: password } }),
      };
      const request = { method: 'POST', at: path('nodes', range, 'nodeshell'), body } as const;
      const { failed } = call.flag('m')
        ? await monitored(
            invocation,
            range,
            (report) => workOnNodes(invocation, request, report, call.common),
            verifies,
          )
        : await workOnNodes(invocation, request, printedLines(invocation, verifies), call.common);
      return Math.min(failed, 255);
    }
    return 0;
  },
});

/** The rest is done here. */
const sentOptions = ['l', 'f', 't', 'e', 'E', 'z', 'Q', 'K', 'sudo', 'L', 'B', 'noverify'];

function optionWords(call: Call, name: string): string[] {
  if (!call.has(name)) return [];
  const value = call.value(name)!;
  return [name.length > 1 ? `--${name}` : `-${name}`, ...(value === '' ? [] : [value])];
}

function printedLines({ env, client }: Invocation, verifies: boolean) {
  const pieces = new Pieces();
  const outLine = (node: string, text: string): string => nodeLine(node, text, { env, server: client.server });
  // The server is named once for a block of what a node complains of.
  const errLines = (node: string, lines: readonly string[]): string[] =>
    lines.map((text, at) => (at === 0 ? `[${client.server ?? ''}]: ${node}: ${text}` : `${node}: ${text}`));
  return {
    lines: () => [],
    piece: (node: string, stream: 'stdout' | 'stderr', text: string): Said => {
      const lines = pieces.lines(node, stream, text);
      return stream === 'stdout'
        ? { stdout: lines.map((line) => outLine(node, line)), stderr: [] }
        : { stdout: [], stderr: errLines(node, lines) };
    },
    result(line: Parameters<typeof outputOf>[0]): Said {
      const node = line.node!;
      const { stdout, stderr, code } = outputOf(line);
      const reason = unreached(line);
      if (reason !== undefined) {
        const gone = `${node} is not responding, make sure it is a node object and is defined in xCATdb. No command will be issued to this host.`;
        return { stdout: [], stderr: verifies ? [errorLine(gone, client.server)] : [...errLines(node, [reason]), ''] };
      }
      const notes = code === 0 && line.error === undefined ? notesOf(line) : [];
      return {
        stdout: [...textLines(pieces.rest(node, 'stdout') ?? stdout), ...notes].map((text) => outLine(node, text)),
        stderr: errLines(node, textLines(pieces.rest(node, 'stderr') ?? stderr)),
      };
    },
  };
}

const notesOf = ({ value }: { readonly value?: unknown }): readonly string[] =>
  (value as { notes?: readonly string[] } | undefined)?.notes ?? [];

async function monitored(
  invocation: Invocation,
  range: string,
  work: (report: ReturnType<typeof printedLines>) => Promise<{ failed: number }>,
  verifies: boolean,
): Promise<{ failed: number }> {
  const { stdout, client } = invocation;
  const say = (text: string): unknown => stdout.line(`dsh>  ${text}`);
  say(`Dsh_process_id ${process.pid}`);
  say('Dsh_initialization_completed');
  say('Dsh_remote_execution_started');
  for (const name of await namesIn(client, range)) say(`Remote_command_started ${name}`);
  const usual = printedLines(invocation, verifies);
  const done = await work({
    ...usual,
    result(line) {
      const said = usual.result(line);
      const end = line.error === undefined ? 'successful' : 'failed';
      return { ...said, stdout: [...said.stdout, `dsh>  Remote_command_${end} ${line.node}`] };
    },
  });
  say('Remote_command_execution_completed');
  return done;
}

function showSettings({ env, stdout }: Invocation): void {
  for (const name of settings) stdout.line(`DSH:${name}=${env[name] ?? ''}`);
  stdout.line('XCAT:RemoteCopyCmd=/usr/bin/scp');
  stdout.line('XCAT:RemoteShell=/usr/bin/ssh');
}

async function askPassword({ terminal }: Invocation): Promise<string> {
  const { askSecret } = await import('../ask.ts');
  return askSecret('Password of the user on the nodes: ', terminal);
}
