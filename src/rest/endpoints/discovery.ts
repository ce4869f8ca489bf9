import { Type } from 'typebox';
import { nodediscoverls, nodediscoverstart, nodediscoverstop } from '../../commands/index.ts';
import { type Endpoint, endpoint, members } from '../endpoint.ts';

export const discovery: Endpoint[] = [
  endpoint('GET /discovery', {
    command: nodediscoverls,
    reply: 'object',
    summary: 'Machines that have booted, said who they are and are no node, and the ranges that are open.',
    description:
      'Each machine has the reason why it is no node, when it was first and last heard of, and what it said of itself. A machine is the node that is defined with one of its MAC addresses, its UUID (uuid), its serial number (serial, and mtm if that is set), the address of its BMC (bmc) or its switch port (switch, switchport), if no other node is defined with another of these and the node has no other machine. One that no node is defined like becomes the next node of an open range that has none of these. The match is journalled with the user muster and the command discovery, and kept in table discoverydata; MAC address, UUID, model and serial number become those of the node, and so does the BMC if it is in hardware.networks; what is defined stays. The node then boots what its attribute chain says, else ondiscover, else what it was told before, else its image.',
    example: {
      reply: {
        ranges: [
          { noderange: 'n[1-100]', by: 'order', opened: '2026-05-04T12:00:00.000Z', openedBy: 'root', free: 98 },
        ],
        unmatched: [
          {
            reason: 'No node is defined like it, and no range is open.',
            address: '10.1.200.7',
            first: '2026-05-04T12:00:00.000Z',
            last: '2026-05-04T12:01:30.000Z',
            times: 4,
            mac: '52:54:00:12:34:56',
            macs: ['52:54:00:12:34:56'],
            uuid: '4c4c4544-0031-3510-8054-b3c04f564433',
            serial: 'SN17',
            manufacturer: 'Example',
            model: 'E-1',
            arch: 'x86_64',
            cpus: 64,
            memoryMiB: 262_144,
            disks: ['sda, 480103981056 bytes'],
            bmc: '10.3.0.7',
            neighbours: [{ interface: 'eno1', chassis: 'sw1', port: 'Ethernet7' }],
          },
        ],
      },
    },
  }),
  endpoint('POST /discovery', {
    command: nodediscoverstart,
    body: members({
      noderange: Type.String({ minLength: 1, description: 'nodes that exist' }),
      by: Type.Optional(Type.Enum(['order'], { description: 'how machines get their nodes' })),
    }),
    args: ({ body }) => ({ noderange: (body as { noderange: string }).noderange }),
    summary: 'Let machines that nobody knows become the nodes of a range, in the order of their names.',
    description:
      'Those nodes are given away that have neither mac nor uuid, serial or switch port. Whoever can reach the boot network can take part: close the range when all are there. It stays open across restarts.',
    example: { body: { noderange: 'compute', by: 'order' } },
  }),
  endpoint('DELETE /discovery', {
    command: nodediscoverstop,
    body: members({ noderange: Type.Optional(Type.String({ description: 'absent: all that are open' })) }),
    args: ({ body }) => ({ noderange: (body as { noderange?: string }).noderange }),
    summary: 'Close a range that was opened for discovery, or all of them.',
    description: 'The range is named as it was when it was opened.',
    example: { body: { noderange: 'compute' } },
  }),
];
