import { Type } from 'typebox';
import { sshkey, xdcp, xdsh } from '../../commands/index.ts';
import { type CopyBody, readCopyRequest } from '../../services/remote/copy-request.ts';
import { readShellRequest } from '../../services/remote/shell-request.ts';
import { endpoint, type Endpoint, type Input, members, nodesOf } from '../endpoint.ts';

const shellBody = members({
  command: Type.Optional(
    Type.Union([Type.String(), Type.Array(Type.Union([Type.String(), Type.Array(Type.String())]))], {
      description:
        'commands for the shell, one after the other; one that is an array itself is a program and its arguments, which arrive as they are',
    }),
  ),
  raw: Type.Optional(
    Type.Union([Type.String(), Type.Array(Type.String())], {
      description:
        'options of xdsh: -l user, -t seconds, -f fan-out, -e (the command is a script on the management node), -E file with an environment, -z (tell the exit code), -Q (no output), -K (hand out the key), --sudo',
    }),
  ),
  ENV: Type.Optional(
    Type.Record(Type.String(), Type.Union([Type.String(), Type.Number(), Type.Boolean()]), {
      description: 'variables of the environment; DSH_TO_USERID is the user to act as, as -l',
    }),
  ),
});

const copyBody = members({
  src: Type.Union([Type.String(), Type.Array(Type.String(), { minItems: 1, maxItems: 1_000 })], {
    description: 'files and directories on the management node',
  }),
  target: Type.String({ minLength: 1, description: 'a directory on the nodes, or the new name of a single file' }),
});

const shellOf = ({ body }: Input) => readShellRequest(body);
const copyOf = ({ body }: Input) => readCopyRequest(body as unknown as CopyBody);

export const remote: Endpoint[] = [
  endpoint('POST /nodes/{noderange}/nodeshell', {
    command: xdsh,
    reply: 'lines',
    body: shellBody,
    args: (input) => ({
      ...nodesOf(input),
      shell: shellOf(input),
      failsOnErrorOutput: input.root.failsOnErrorOutput,
    }),
    summary: 'Run commands on nodes by SSH.',
    description:
      'The reply has the lines of each node, standard error after standard output. An exit code other than 0, a signal, a node that cannot be reached or a passed deadline is an error; at /xcatws output on standard error is one too. With Accept: application/x-ndjson each node is a line as it finishes, with stdout, stderr and code apart; the run shows them too. Of a node that prints more than is kept, cut has the bytes that are missing; before that line, all that it prints comes in lines with the node and a piece of stdout or stderr, as fast as the client reads them. Who asks is who runs the command on the node, unless the site attribute remoteusers names another; to be another, by it or by -l, or to be oneself against it, needs full rights or a policy rule whose parameters allow it, such as "-l root". The command is killed when the client leaves.',
    example: {
      path: '/nodes/n1,n2/nodeshell',
      body: { command: ['uname -r', ['echo', 'two  blanks']], ENV: { LANG: 'C' } },
      reply: { n1: ['6.1.0', 'two  blanks'], n2: ['6.1.0', 'two  blanks'] },
    },
  }),
  endpoint('POST /nodes/{noderange}/nodecopy', {
    command: xdcp,
    body: copyBody,
    args: (input) => ({ ...nodesOf(input), ...copyOf(input) }),
    summary: 'Copy files and directories from the management node to nodes by SFTP.',
    description:
      'Modes and times are kept, links stay links, and each file takes its place in one step when it has arrived completely. The target is a directory, made if it is missing, when it exists as one, ends with a slash or gets more than a single file. Sources lie below the directories of the setting remote.sources unless the parameters of a policy rule allow the path.',
    example: { path: '/nodes/n1,n2/nodecopy', body: { src: ['/install/custom/motd'], target: '/etc/' } },
  }),
  endpoint('GET /services/sshkey', {
    command: sshkey,
    reply: 'list',
    summary: "The public key that muster logs in to nodes with, for their users' authorized_keys.",
    example: { reply: ['ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI... muster'] },
    only: '/muster',
  }),
];
