import { Type } from 'typebox';
import { sshkey, updatenode, xdcp, xdsh } from '../../commands/index.ts';
import type { UpdatenodeArgs } from '../../commands/updatenode.ts';
import { type CopyBody, messagesOf, readCopyRequest, readShellRequest } from '../../nodes/index.ts';
import { Fault } from '../../core/errors.ts';
import { endpoint, type Endpoint, type Input, members, nodesOf } from './endpoint.ts';

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
        'options of xdsh: -l user, -t seconds, -f fan-out, -e (the command is a script on the management node), -E file with an environment, -z (show the exit code), -Q (no output), -K (hand out the key), --sudo',
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
      'The reply has the lines of each node, standard error after standard output. An exit code other than 0, a signal, a node that cannot be reached or a timeout is an error; at /xcatws output on standard error is one too. With Accept: application/x-ndjson each node is a line as it finishes, with stdout, stderr and code apart; the run shows them too. Where output is not UTF-8, base64 has the bytes of that stream. Of a node that prints more than is kept, cut has the bytes that are missing; before that line, all that it prints comes in lines with the node and a piece of stdout or stderr, as fast as the client reads them. The command runs on the node as the user who asks, unless the site attribute remoteusers names another; to run it as another, by it or by -l, or as oneself against it, needs full rights or a policy rule whose parameters allow it, such as "-l root". The command is killed when the client leaves.',
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
  endpoint('PUT /nodes/{noderange}/files', {
    command: xdcp,
    archive: true,
    query: { target: 'a directory on the nodes, or the new name of a single file' },
    args: (input) => {
      const { target = '' } = input.query;
      if (target === '')
        throw new Fault('missing-member', 'The query lacks the parameter "target", a path on the nodes.');
      const { names = [], directory } = input.files ?? {};
      const { target: place } = readCopyRequest({ src: [], target });
      return { ...nodesOf(input), sources: names, received: directory ?? '', target: place };
    },
    summary: 'Copy files that come with the request to nodes by SFTP.',
    description:
      'The body is a tar archive (Content-Type: application/x-tar) of files, directories and links, with credentials in the header or the query. Names in it are relative and lead nowhere else; a directory comes before what is in it. The rest is as for nodecopy. The setting remote.clientBytes bounds the size. A policy rule with parameters allows it only if they name such files, which the argument line calls client:NAME; links may then lead only to what lies below the directory of the link.',
    example: { query: { target: '/tmp/' } },
    only: '/muster',
  }),
  endpoint('GET /services/sshkey', {
    command: sshkey,
    reply: 'list',
    summary: "The public key that muster logs in to nodes with, for their users' authorized_keys.",
    example: { reply: ['ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI... muster'] },
    only: '/muster',
  }),
];

type Steps = Omit<UpdatenodeArgs, 'range' | 'refuseEmpty'>;

const everything: Steps = { files: true, software: true, scripts: [] };
const files: Steps = { files: true, software: false, scripts: undefined };
const software: Steps = { files: false, software: true, scripts: undefined };

const scriptsOf = ({ body }: Input): Steps => {
  const given = (body['scripts'] ?? []) as string | readonly string[];
  const list = typeof given === 'string' ? given.split(',') : given;
  return {
    files: false,
    software: false,
    scripts: list.map((script) => script.trim()).filter((script) => script !== ''),
  };
};

const row = (
  word: string,
  stepsOf: (input: Input) => Steps,
  rest: Pick<Endpoint, 'reply' | 'summary' | 'description' | 'example' | 'body' | 'together'>,
): Endpoint =>
  endpoint(`POST /nodes/{noderange}/${word}`, {
    command: updatenode,
    args: (input) => ({ ...nodesOf(input), ...stepsOf(input) }),
    ...rest,
  });

const synced = 'File synchronization has completed for nodes: "n1,n2"';
const begun = 'Performing software maintenance operations. This could take a while, if there are packages to install.';

export const update: Endpoint[] = [
  row('updating', () => everything, {
    reply: 'list',
    together: messagesOf,
    summary: 'Bring nodes up to date: synchronise files, install packages, run postscripts.',
    description:
      'What filesyncing, sw and postscript do, one after the other on each node; a node on which a step fails gets no further. updatestatus of the nodes says how far it is: syncing, synced, failed. The work goes on when the client leaves.',
    example: {
      path: '/nodes/n1,n2/updating',
      reply: [
        synced,
        begun,
        'n1: postscript start..: ospkgs',
        'n1: postscript end....: ospkgs exited with code 0',
        'n1: Running of postscripts has completed.',
      ],
    },
  }),
  row('filesyncing', ({ body }) => ({ ...files, synclist: body['synclist'] as string | undefined }), {
    reply: 'list',
    body: members({
      synclist: Type.Optional(
        Type.String({
          minLength: 1,
          description: 'a list on the management node, instead of those of the images',
        }),
      ),
    }),
    together: messagesOf,
    summary: "Give nodes the files of their images' synclists.",
    description:
      'Only files that differ travel: by size, then time, then hash. Lists are those of the attribute synclists of the image, else the one below INSTALLDIR/custom that fits. Lists and sources must lie below the directories of the setting remote.sources.',
    example: { path: '/nodes/n1,n2/filesyncing', body: {}, reply: [synced] },
  }),
  row('sw', () => software, {
    reply: 'lines',
    summary: "Install the packages of the images' lists with apt-get, dnf, yum or zypper, as found on the node.",
    description:
      'The lists of the attributes pkglist (ospkgs) and otherpkglist (otherpkgs) of the image. Packages come from the repositories that the node knows.',
    example: {
      path: '/nodes/n1/sw',
      reply: {
        n1: [
          begun,
          'postscript start..: ospkgs',
          'postscript end....: ospkgs exited with code 0',
          'postscript start..: otherpkgs',
          'postscript end....: otherpkgs exited with code 0',
          'Running of Software Maintenance has completed.',
        ],
      },
    },
  }),
  row('postscript', scriptsOf, {
    reply: 'lines',
    body: members({
      scripts: Type.Optional(
        Type.Union([Type.String(), Type.Array(Type.String())], {
          description: 'names of scripts, perhaps with arguments; without it those of each node are run',
        }),
      ),
    }),
    summary: 'Run postscripts on nodes.',
    description:
      'The scripts of the setting remote.postscripts are sent to /xcatpost on the node, as far as they have changed, and run there: those of all nodes, of the image, of the node; then their postbootscripts. An exit code other than 0 is shown in the lines and makes updatestatus failed. If a named script does not exist, nothing is run.',
    example: {
      path: '/nodes/n1/postscript',
      body: { scripts: ['hello'] },
      reply: {
        n1: [
          'postscript start..: hello',
          'postscript end....: hello exited with code 0',
          'Running of postscripts has completed.',
        ],
      },
    },
  }),
];
