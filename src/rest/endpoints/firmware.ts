import { Type } from 'typebox';
import { rflash } from '../../commands/index.ts';
import { Fault } from '../../core/errors.ts';
import { applyTimes } from '../../drivers/index.ts';
import { endpoint, type Endpoint, type Input, members, nodesOf } from './endpoint.ts';

const times = `when it is applied: ${applyTimes.join(', ')}; the default is now`;
const component = 'what it is for, as GET shows it in parentheses; without it the BMC finds out';
const version =
  'the version that it brings: nodes that have it get nothing, and a node that has not got it in the end has failed';
const again = 'send it though it was sent earlier and nothing is known of that update';
const nodes = 'how many nodes are meant; needed with more nodes than the setting hardware.flashAsk';
const atOnce = 'nodes at a time; the default is the setting hardware.flashAtOnce';
const stopAfter = 'begin no more after so many nodes have failed; the default is the setting hardware.flashFailures';

const updateBody = members({
  action: Type.Optional(Type.Enum(['update', 'start'], { description: 'start: begin what was brought with on-start' })),
  url: Type.Optional(Type.String({ minLength: 1, description: 'the address from which BMCs fetch the image' })),
  file: Type.Optional(Type.String({ minLength: 1, description: 'a file of the management node, which muster sends' })),
  component: Type.Optional(Type.String({ minLength: 1, maxLength: 200, description: component })),
  apply: Type.Optional(Type.Enum([...applyTimes], { description: times })),
  version: Type.Optional(Type.String({ minLength: 1, maxLength: 200, description: version })),
  again: Type.Optional(Type.Boolean({ description: again })),
  nodes: Type.Optional(Type.Integer({ minimum: 0, description: nodes })),
  atOnce: Type.Optional(Type.Integer({ minimum: 1, maximum: 1_000, description: atOnce })),
  stopAfter: Type.Optional(Type.Integer({ minimum: 1, description: stopAfter })),
});

interface UpdateBody {
  readonly action?: 'update' | 'start';
  readonly url?: string;
  readonly file?: string;
  readonly component?: string;
  readonly apply?: string;
  readonly version?: string;
  readonly again?: boolean;
  readonly nodes?: number;
  readonly atOnce?: number;
  readonly stopAfter?: number;
}

const confirmed = ({ expectsNodes }: Input) => ({ isConfirmed: expectsNodes });

function countIn(name: string, text: string | undefined): number | undefined {
  if (text === undefined || /^\d{1,6}$/.test(text)) return text === undefined ? undefined : Number(text);
  throw new Fault('malformed', `${name}: give a number, not "${text}".`);
}

function switchIn(name: string, text: string | undefined): boolean | undefined {
  if (text === undefined || text === '1' || text === '0') return text === undefined ? undefined : text === '1';
  throw new Fault('malformed', `${name}: give 1 or 0, not "${text}".`);
}

const outcome = {
  firmware: 'updated',
  changed: ['bios: 1.42 to 1.50'],
  Message: 'its BMC has carried out the update.',
};

export const firmware: Endpoint[] = [
  endpoint('GET /nodes/{noderange}/firmware', {
    command: rflash,
    reply: 'attributes',
    args: ({ params }) => ({ range: params['noderange']!, action: 'list' }),
    summary: 'The firmware of nodes and their BMCs, with versions.',
    description: 'In parentheses stands the component, by which updates and catalogs name it.',
    example: {
      reply: { n1: { 'System Model': 'LabServer', 'BMC Firmware (bmc)': '2.15.1', 'Host BIOS (bios)': '1.42' } },
    },
    only: '/muster',
  }),
  endpoint('POST /nodes/{noderange}/firmware', {
    command: rflash,
    reply: 'attributes',
    body: updateBody,
    args(input) {
      const body: UpdateBody = input.body;
      return { ...nodesOf(input), ...body, action: body.action ?? 'update', ...confirmed(input) };
    },
    summary: 'Update the firmware of nodes from an address, or from a file of the management node.',
    description:
      'Answers when every node shows another version, which may take an hour; with Prefer: respond-async the run shows how far it is. An image is sent once: what is about to be sent is recorded before, and a request with the same image first looks what has become of it, and follows an update that goes on. Files lie below the directories of the setting remote.sources unless the parameters of a policy rule allow the path.',
    example: { body: { url: 'https://files.example.com/bios-1.50.bin', component: 'bios' }, reply: { n1: outcome } },
    only: '/muster',
  }),
  endpoint('PUT /nodes/{noderange}/firmware', {
    command: rflash,
    reply: 'attributes',
    archive: true,
    query: { component, apply: times, version, again: `1: ${again}`, nodes, atOnce, stopAfter },
    args(input) {
      const { query } = input;
      const { names = [], directory = '' } = input.files ?? {};
      if (names.length > 1) throw new Fault('malformed', 'The archive has several files; an update has one image.');
      return {
        ...nodesOf(input),
        action: 'update',
        file: names[0] ?? '',
        received: directory,
        component: query['component'],
        apply: query['apply'],
        version: query['version'],
        again: switchIn('again', query['again']),
        nodes: countIn('nodes', query['nodes']),
        atOnce: countIn('atOnce', query['atOnce']),
        stopAfter: countIn('stopAfter', query['stopAfter']),
        ...confirmed(input),
      };
    },
    summary: 'Update the firmware of nodes with an image that comes with the request.',
    description:
      'The body is a tar archive with one file (Content-Type: application/x-tar), with credentials in the header or the query. The rest is as for POST. The setting remote.clientBytes bounds the size. A policy rule with parameters allows it only if they name such files, which the argument line calls client:NAME.',
    example: { query: { component: 'bios' }, reply: { n1: outcome } },
    only: '/muster',
  }),
];
