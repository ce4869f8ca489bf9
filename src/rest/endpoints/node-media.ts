import { Type } from 'typebox';
import { rmedia } from '../../commands/index.ts';
import { Fault } from '../../core/errors.ts';
import { endpoint, type Endpoint, members, nodesOf } from './endpoint.ts';

const drive = 'the drive, as GET shows it; without it the first that is free, or what muster has inserted';
const force = 'also eject what muster has not inserted';

const insertBody = members({
  url: Type.Optional(Type.String({ minLength: 1, description: 'the address from which BMCs fetch the image' })),
  file: Type.Optional(Type.String({ minLength: 1, description: 'a file of the management node, which serves it' })),
  drive: Type.Optional(Type.String({ minLength: 1, maxLength: 100, description: drive })),
  force: Type.Optional(Type.Boolean({ description: force })),
});

interface InsertBody {
  readonly url?: string;
  readonly file?: string;
  readonly drive?: string;
  readonly force?: boolean;
}

const byNode = Type.Record(
  Type.String(),
  Type.Object({
    drives: Type.Array(
      Type.Object({
        drive: Type.String(),
        types: Type.String(),
        state: Type.Enum(['inserted', 'empty']),
        image: Type.Optional(Type.String()),
        by: Type.Optional(Type.Enum(['muster', 'others'])),
      }),
    ),
  }),
);

const found = {
  drives: [
    {
      drive: 'CD',
      types: 'CD, DVD',
      state: 'inserted',
      image: 'https://files.example.com/rescue.iso',
      by: 'muster',
    },
    { drive: 'RemovableDisk', types: 'USBStick', state: 'empty' },
  ],
};

/** Virtual media of nodes. */
export const nodeMedia: Endpoint[] = [
  endpoint('GET /nodes/{noderange}/media', {
    command: rmedia,
    reply: 'object',
    returns: byNode,
    args: ({ params }) => ({ range: params['noderange']!, action: 'stat' }),
    summary: 'The drives for virtual media of nodes, and what is inserted.',
    description: 'Addresses are shown without what may open them.',
    example: { reply: { n1: found } },
    only: '/muster',
  }),
  endpoint('PUT /nodes/{noderange}/media', {
    command: rmedia,
    reply: 'object',
    returns: Type.Record(
      Type.String(),
      Type.Object({ media: Type.String(), drive: Type.String(), image: Type.String() }),
    ),
    body: insertBody,
    args(input) {
      const body: InsertBody = input.body;
      return { ...nodesOf(input), ...body, action: 'insert' };
    },
    summary: 'Insert an image as virtual media of nodes.',
    description:
      'The BMCs fetch the image from its address, or a file of the management node from muster. Files lie below the directories of the setting remote.sources unless the parameters of a policy rule allow the path. What somebody else has inserted stays: another drive is taken, or the node fails and the error names the image. The image stays until DELETE. What boots next is set apart.',
    example: {
      body: { url: 'https://files.example.com/rescue.iso' },
      reply: { n1: { media: 'inserted', drive: 'CD', image: 'https://files.example.com/rescue.iso' } },
    },
    only: '/muster',
  }),
  endpoint('DELETE /nodes/{noderange}/media', {
    command: rmedia,
    reply: 'object',
    returns: Type.Record(Type.String(), Type.Object({ media: Type.String(), drives: Type.Array(Type.String()) })),
    query: { drive: 'the drive; without it what muster has inserted', force: `1: ${force}` },
    args(input) {
      const { drive: named, force: forced } = input.query;
      if (forced !== undefined && forced !== '1' && forced !== '0')
        throw new Fault('malformed', `force: give 1 or 0, not "${forced}".`);
      return { ...nodesOf(input), action: 'eject', drive: named, force: forced === '1' };
    },
    summary: 'Eject virtual media of nodes: what muster has inserted.',
    description:
      'If there is nothing to eject, the reply says empty. What somebody else has inserted is ejected only with force.',
    example: { reply: { n1: { media: 'ejected', drives: ['CD'] } } },
    only: '/muster',
  }),
];
