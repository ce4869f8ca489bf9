import { Type } from 'typebox';
import { doctor as command } from '../../commands/index.ts';
import { type Endpoint, endpoint } from './endpoint.ts';

export const doctorReply = Type.Object({
  findings: Type.Array(
    Type.Object({
      well: Type.Boolean(),
      what: Type.String({ description: 'ports, certificate, daemons, permissions, database, backup and so on' }),
      text: Type.String({ description: 'what was found, and how to mend what is not well' }),
    }),
  ),
  logFile: Type.Optional(Type.String({ description: 'where the log is, if the setting logFile names a file' })),
});

export const doctor: Endpoint[] = [
  endpoint('GET /doctor', {
    command,
    reply: 'object',
    returns: doctorReply,
    summary: 'What the server finds when it looks at itself and its machine.',
    description:
      'Ports, certificates, daemons, permissions, database, backups, time, boot loaders, networks of BMCs and nodes, DNS and DHCP as nodes see them. It asks the name servers that nodes are given for a few nodes, and changes nothing. Answers may be 5 seconds old.',
    example: {
      reply: {
        findings: [
          { well: true, what: 'database', text: 'SQLite finds no damage' },
          {
            well: false,
            what: 'dns',
            text: '10.1.0.1 does not know n1.cluster.example: makehosts, then makedns',
          },
        ],
      },
    },
    only: '/muster',
  }),
];
