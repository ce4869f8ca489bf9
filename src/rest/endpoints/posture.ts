import { Type } from 'typebox';
import { posture as command } from '../../commands/index.ts';
import { postureLevels } from '../../drivers/index.ts';
import { endpoint, type Endpoint } from './endpoint.ts';

const level = Type.Enum(postureLevels);

export const posture: Endpoint[] = [
  endpoint('GET /nodes/{noderange}/posture', {
    command,
    reply: 'object',
    returns: Type.Record(
      Type.String(),
      Type.Object({
        level,
        firmware: Type.Record(Type.String(), Type.String()),
        findings: Type.Array(Type.Object({ level, name: Type.String(), message: Type.String() })),
      }),
    ),
    args: ({ params }) => ({ range: params['noderange']! }),
    summary: 'How well the BMCs of nodes are protected and kept, and what to do.',
    description:
      'Each finding has a level (ok, note, warning or danger), a name and a sentence. The level of a node is that of its worst finding. muster only reads: it tries no password. What a BMC does not report is a note that begins with Unknown.',
    example: {
      reply: {
        n1: {
          level: 'warning',
          firmware: { BMC: '2.15.0' },
          findings: [
            {
              level: 'warning',
              name: 'clock',
              message: 'The clock is 4 hours behind: set it, or give the BMC a time server.',
            },
            { level: 'ok', name: 'event-log', message: 'The event log has room.' },
          ],
        },
      },
    },
    only: '/muster',
  }),
];
