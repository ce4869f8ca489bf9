import { Type } from 'typebox';
import { updatenode } from '../../commands/index.ts';
import type { UpdatenodeArgs } from '../../commands/updatenode.ts';
import { messagesOf } from '../../services/update/messages.ts';
import { endpoint, type Endpoint, type Input, members, nodesOf } from '../endpoint.ts';

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
      'The scripts of the setting remote.postscripts are sent to /xcatpost on the node, as far as they have changed, and run there: those of all nodes, of the image, of the node; then their postbootscripts. An exit code other than 0 is told in the lines and makes updatestatus failed. If a named script does not exist, nothing is run.',
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
