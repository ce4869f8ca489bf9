import { path } from '../client.ts';
import type { CliCommand, Invocation } from '../invocation.ts';
import { errorLine, nodeLine, referenceVersion } from '../lines.ts';
import { namesIn } from '../nodes/confirm.ts';
import { workOnNodes } from '../nodes/node-work.ts';
import { ownOptionsHelp, takeOwnOptions } from '../nodes/own-options.ts';
import { Pieces, outputOf, textLines, unreached } from '../nodes/remote-lines.ts';
import { asksHelp } from '../nodes/range-words.ts';
import type { Said } from '../nodes/result-writer.ts';

const usage = `Usage: xdsh NODERANGE [OPTIONS] COMMAND...

  -l USER       as this user of the nodes
  -f NUMBER     so many nodes at once
  -t SECONDS    a node that takes longer is given up
  -e FILE ...   a script of the management node and its arguments, instead of a command
  -E FILE       a file of the management node with the environment
  -z            tell the exit status
  -v            leave out nodes that do not answer, with a word about each
  -s            print as it comes, which it does anyway
  -m            tell how far it is
  -Q            print nothing
  -K            hand out the key of muster; asks for the users' password
  --sudo        by sudo
  -q            show the configuration
  -V            show the version

The exit status is the number of nodes that failed.

${ownOptionsHelp}`;

const withValue = [
  '-l',
  '--user',
  '-f',
  '--fanout',
  '-t',
  '--timeout',
  '-E',
  '--environment',
  '-i',
  '-r',
  '--node-rsh',
  '-S',
  '-X',
  '-N',
  '-o',
  '--node-options',
];
const ours = ['-v', '--verify', '-s', '--stream', '-m', '--monitor', '-q', '--show-config'];

interface Words {
  readonly range: string | undefined;
  readonly options: readonly string[];
  readonly command: readonly string[];
}

/** The range is the first word that is no option; options end where the command begins. */
function wordsOf(argv: readonly string[]): Words {
  const options: string[] = [];
  let range: string | undefined;
  for (let at = 0; at < argv.length; at += 1) {
    const word = argv[at]!;
    if (word.startsWith('-') && word !== '-') {
      options.push(word);
      if (withValue.includes(word) && at + 1 < argv.length) options.push(argv[(at += 1)]!);
    } else if (range === undefined) range = word;
    else return { range, options, command: argv.slice(at) };
  }
  return { range, options, command: [] };
}

/** Before the command of the user's own, which may have words that look like ours. */
const wordsBefore = (argv: readonly string[]): number => argv.length - wordsOf(argv).command.length;

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

export const command: CliCommand = {
  usage,
  async run(invocation) {
    const { env, stdout, stderr } = invocation;
    const { own, rest } = takeOwnOptions(invocation.argv, wordsBefore(invocation.argv));
    const { range, options, command: words } = wordsOf(rest);
    const has = (...names: readonly string[]): boolean => options.some((option) => names.includes(option));
    if (options.some(asksHelp)) stdout.line(usage);
    else if (has('-V', '--version')) stdout.write(`Version ${referenceVersion}\n\n`);
    else if (range !== undefined && has('-q', '--show-config')) showSettings(invocation);
    else if (range === undefined) {
      stdout.write('Node range not specified, see man page for syntax.\n\n');
      return 1;
    } else if (words.length === 0 && !has('-K')) {
      stderr.line('No parameters were supplied on the xdsh command. Run xdsh -h');
      return 1;
    } else {
      const password = has('-K') ? (env['DSH_REMOTE_PASSWORD'] ?? (await askPassword(invocation))) : undefined;
      const body = {
        command: words.join(' '),
        raw: options.filter((option) => !ours.includes(option)),
        ...(password === undefined ? {} : { ENV: { DSH_REMOTE_PASSWORD: password } }),
      };
      const request = { method: 'POST', at: path('nodes', range, 'nodeshell'), body } as const;
      const { failed } = has('-m', '--monitor')
        ? await monitored(invocation, range, (lines) => workOnNodes(invocation, request, lines, own), has('-v'))
        : await workOnNodes(invocation, request, telling(invocation, has('-v')), own);
      return Math.min(failed, 255);
    }
    return 0;
  },
};

function telling({ env, client }: Invocation, verifies: boolean) {
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
  work: (lines: ReturnType<typeof telling>) => Promise<{ failed: number }>,
  verifies: boolean,
): Promise<{ failed: number }> {
  const { stdout, client } = invocation;
  const say = (text: string): unknown => stdout.line(`dsh>  ${text}`);
  say(`Dsh_process_id ${process.pid}`);
  say('Dsh_initialization_completed');
  say('Dsh_remote_execution_started');
  for (const name of await namesIn(client, range)) say(`Remote_command_started ${name}`);
  const usual = telling(invocation, verifies);
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
