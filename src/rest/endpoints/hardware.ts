import { Type } from 'typebox';
import {
  lsoutlets,
  rbeacon,
  rbootseq,
  renergy,
  reventlog,
  rinv,
  rpower,
  rscan,
  rsetboot,
  rspconfig,
  rvitals,
} from '../../commands/index.ts';
import { Fault } from '../../core/errors.ts';
import { valueText } from './definition-body.ts';
import {
  anyMembers,
  endpoint,
  type Endpoint,
  type Input,
  type MemberLack,
  members,
  nodesOf,
  requiredText,
} from './endpoint.ts';
import { splitList } from './definitions.ts';

const rangeOf = ({ params }: Input): string => params['noderange']!;

/** A member without which there is nothing to do. `kind`: as what its lack counts, which the roots answer differently. */
function needed(input: Input, member: string, kind: 'missing-action' | 'missing-member'): string {
  const value = input.body[member];
  if (value === undefined || value === '') throw new Fault(kind, `The body lacks the member "${member}".`);
  if (typeof value !== 'string') throw new Fault('malformed', `"${member}" must be a string.`);
  return value;
}

const actionBody = (lack: MemberLack, ...known: string[]) => members({ action: requiredText(lack, known.join(', ')) });

/** The first attribute of the body, as the reference system reads it. */
function energySetting({ body }: Input): { attribute: string; value: string } {
  const [entry, ...more] = Object.entries(body);
  if (!entry) throw new Fault('missing-member', 'Give the attribute to set, for example {"cappingstatus":"on"}.');
  if (more.length > 0) throw new Fault('malformed', 'Set one energy attribute at a time.');
  return { attribute: entry[0], value: valueText(entry[0], entry[1]) };
}

function countIn(name: string, text: string | undefined): number | undefined {
  if (text === undefined || /^[1-9]\d{0,5}$/.test(text)) return text === undefined ? undefined : Number(text);
  throw new Fault('malformed', `${name}: give a number from 1 to 999999, not "${text}".`);
}

function processorSetting({ params }: Input): string {
  const attribute = params['attribute']!;
  if (!attribute.includes('=')) return attribute;
  throw new Fault('invalid', 'The path names a setting; its value goes into the body of a PUT: {"value":"..."}.');
}

/** Both forms of the body: {"ip":"10.0.0.1"} and {"value":"10.0.0.1"}. */
function processorSettings(input: Input): Record<string, string> {
  const { root, body } = input;
  const attribute = processorSetting(input);
  const { value, ...others } = body;
  const shortForm = value !== undefined;
  if (Object.keys(body).length === 0)
    throw new Fault('missing-member', `Give the value, for example {"${attribute}":"..."}.`);
  if (root.strict && !shortForm && others[attribute] === undefined) {
    const given = Object.keys(others).map((name) => `"${name}"`);
    throw new Fault(
      'missing-member',
      `The path names ${attribute}, but the body has only ${given.join(', ')}: add ${attribute} to the body, or name one of these in the path.`,
    );
  }
  if (root.strict && shortForm && Object.keys(others).length > 0)
    throw new Fault('unknown-member', 'Beside "value" the body can have no other setting; name each one instead.');
  if (shortForm) return { [attribute]: valueText(attribute, value) };
  return Object.fromEntries(Object.entries(others).map(([name, text]) => [name, valueText(name, text)]));
}

/** Numbers of outlets, each as definitions write it. */
function outletsIn({ body }: Input): readonly string[] {
  const items = [body['outlets']].flat().flatMap((item) => String(item).split(','));
  const list = items.map((item) => item.trim().replace(/^0+(?=\d)/, '')).filter((item) => item !== '');
  if (list.length === 0) throw new Fault('invalid', '"outlets" names no outlet; leave it out where all are meant.');
  if (list.length > 1_024) throw new Fault('invalid', '"outlets" names more than 1024 outlets.');
  return [...new Set(list)];
}

/** A list as an array or as text with commas. */
function neededList(input: Input, member: string): readonly string[] {
  const value = input.body[member];
  const items = typeof value === 'string' ? value.split(',') : ((value ?? []) as readonly string[]);
  const list = items.map((item) => item.trim()).filter((item) => item !== '');
  if (list.length === 0) throw new Fault('missing-member', `The body lacks the member "${member}".`);
  return list;
}

export const hardware: Endpoint[] = [
  endpoint('GET /nodes/{noderange}/power', {
    command: rpower,
    reply: 'attributes',
    args: (input) => ({ range: rangeOf(input), action: 'stat' }),
    summary: 'The power state of nodes, read from their BMCs.',
    example: { reply: { n1: { power: 'on' } } },
  }),
  endpoint('PUT /nodes/{noderange}/power', {
    command: rpower,
    body: members({
      action: requiredText(
        'missing-action',
        [
          'on, off, softoff, reset, boot, cycle, nmi, wake, suspend, stat, state',
          'of BMCs themselves bmcreboot, bmcstate',
          'of the outlets that feed nodes pduon, pduoff, pdureset, pdustat, and of the chassis that they are in chassison, chassisoff, chassisreset, chassisstat',
        ].join(', '),
      ),
      outlets: Type.Optional(
        Type.Union([Type.Array(Type.Union([Type.String(), Type.Integer()])), Type.String(), Type.Integer()], {
          description: 'of nodes that are PDUs: only these outlets; an array, or text with commas',
        }),
      ),
      force: Type.Optional(
        Type.Boolean({ description: 'true: also outlets that feed other nodes, and chassis with others in them' }),
      ),
    }),
    args: (input) => ({
      ...nodesOf(input),
      action: needed(input, 'action', 'missing-action'),
      ...(input.body['outlets'] === undefined ? {} : { outlets: outletsIn(input) }),
      ...(input.body['force'] === true ? { force: true } : {}),
    }),
    summary: 'Switch nodes on or off, or reset them, or the outlets that feed them.',
    description:
      'Answers when every node has reached the state or the timeout has passed. boot is reset when on, on when off. Of a node that is a PDU, on, off, reset and stat mean its outlets. An outlet that feeds nodes which the request does not name is switched only with force, and so is a chassis with other machines in it, which the error names.',
    example: { body: { action: 'on' } },
  }),
  endpoint('GET /nodes/{noderange}/outlets', {
    command: lsoutlets,
    reply: 'attributes',
    args: nodesOf,
    only: '/muster',
    summary:
      'The outlets of PDUs, or those that feed nodes: state, name, power, current and energy as far as they are measured.',
    example: { reply: { n1: { 'pdu1:3': 'on', 'pdu1:3 power': '217 Watts', 'pdu1:3 feeds': ['n1'] } } },
  }),
  endpoint('GET /nodes/{noderange}/energy', {
    command: renergy,
    reply: 'attributes',
    args: (input) => ({ range: rangeOf(input), attributes: [] }),
    summary: 'Power consumption and capping of nodes.',
    example: { reply: { n1: { cappingstatus: 'off', cappingmin: '100 W', cappingmax: '500 W' } } },
  }),
  endpoint('GET /nodes/{noderange}/energy/{attributes}', {
    command: renergy,
    reply: 'attributes',
    args: (input) => ({ range: rangeOf(input), attributes: splitList(input.params['attributes']!) }),
    summary: 'The named energy attributes of nodes.',
    example: { path: '/nodes/n1/energy/cappingstatus', reply: { n1: { cappingstatus: 'off' } } },
  }),
  endpoint('PUT /nodes/{noderange}/energy', {
    command: renergy,
    body: anyMembers('cappingstatus: on or off; cappingvalue: watts, or percent of the range'),
    args: (input) => ({ ...nodesOf(input), attributes: [], set: energySetting(input) }),
    summary: 'Set power capping.',
    example: { body: { cappingstatus: 'on' } },
  }),
  endpoint('GET /nodes/{noderange}/sp/{attribute}', {
    command: rspconfig,
    reply: 'attributes',
    args: (input) => ({ range: rangeOf(input), attribute: processorSetting(input) }),
    summary: 'A setting of the BMCs: ip, netmask, gateway, vlan, community and others.',
    example: { path: '/nodes/n1/sp/ip', reply: { n1: { 'BMC IP': '127.10.0.1' } } },
  }),
  endpoint('PUT /nodes/{noderange}/sp/{attribute}', {
    command: rspconfig,
    body: anyMembers('the attribute and its value, or value alone'),
    args: (input) => ({ ...nodesOf(input), attribute: processorSetting(input), set: processorSettings(input) }),
    summary: 'Change a setting of the BMCs.',
    description:
      'With a new ip the BMC is looked for at its new address, and the attribute bmc of the node follows if it was the old address, as the node’s own value even where a group gave it; what was done, or has to be done where it is a name, is shown with debug=1 and in the result of the run.',
    example: { path: '/nodes/n1/sp/community', body: { value: 'private' } },
  }),
  endpoint('GET /nodes/{noderange}/nextboot', {
    command: rsetboot,
    reply: 'attributes',
    args: (input) => ({ range: rangeOf(input), order: 'stat' }),
    summary: 'What nodes boot from next.',
    example: { reply: { n1: { nextboot: 'Network' } } },
  }),
  endpoint('PUT /nodes/{noderange}/nextboot', {
    command: rsetboot,
    body: members({
      order: requiredText('missing-action', 'net, hd, cd, floppy, def, setup'),
      persistent: Type.Optional(Type.Enum(['yes', 'no'], { description: 'yes: for all boots, not the next alone' })),
      mode: Type.Optional(Type.Enum(['uefi', 'legacy'])),
    }),
    args: (input) => ({
      ...nodesOf(input),
      order: needed(input, 'order', 'missing-action'),
      persistent: input.body['persistent'] === 'yes',
      mode: input.body['mode'] as 'uefi' | 'legacy' | undefined,
    }),
    summary: 'Choose what nodes boot from next.',
    example: { body: { order: 'net' } },
  }),
  endpoint('GET /nodes/{noderange}/bootorder', {
    command: rbootseq,
    reply: 'attributes',
    args: (input) => ({ range: rangeOf(input) }),
    summary: 'What nodes try to boot from, in this order, where the hardware reports it.',
    example: { reply: { n1: { bootorder: 'Network Adapter 1,Hard Drive,Network Adapter 2,Optical Drive' } } },
  }),
  endpoint('PUT /nodes/{noderange}/bootorder', {
    command: rbootseq,
    body: members({
      order: Type.Optional(
        Type.Union([Type.Array(Type.String()), Type.String()], {
          description: 'names as GET shows them, first things first; an array, or text with commas',
        }),
      ),
    }),
    args: (input) => ({ ...nodesOf(input), order: neededList(input, 'order') }),
    summary: 'Change what nodes try to boot from.',
    description: 'The change is permanent. Devices that are not named follow those that are, in the order they had.',
    example: { body: { order: ['Hard Drive', 'Network Adapter 1'] } },
  }),
  ...[
    {
      word: 'vitals',
      command: rvitals,
      kind: 'temp',
      what: 'Sensor readings: temperatures, voltages, fan speeds, power and lights',
      sample: { 'CPU1 Temp': '40 C (104 F)' },
    },
    {
      word: 'inventory',
      command: rinv,
      kind: 'model',
      what: 'The hardware inventory: model, serial number, processors, memory, disks, firmware',
      sample: { 'System Model/MTM': '7X00LAB' },
    },
  ].flatMap(({ word, command, kind, what, sample }) => [
    endpoint(`GET /nodes/{noderange}/${word}`, {
      command,
      reply: 'attributes',
      args: (input) => ({ range: rangeOf(input), kinds: [] }),
      summary: `${what}.`,
      example: { path: `/nodes/n1/${word}`, reply: { n1: sample } },
    }),
    endpoint(`GET /nodes/{noderange}/${word}/{kinds}`, {
      command,
      reply: 'attributes',
      args: (input) => ({ range: rangeOf(input), kinds: splitList(input.params['kinds']!) }),
      summary: `${what}, of the named kinds.`,
      example: { path: `/nodes/n1/${word}/${kind}`, reply: { n1: sample } },
    }),
  ]),
  endpoint('GET /nodes/{noderange}/eventlog', {
    command: reventlog,
    reply: 'attributes',
    query: { newest: 'only so many entries, the newest; muster then asks the BMC for no more, where it can' },
    args: (input) => ({ range: rangeOf(input), clear: false, newest: countIn('newest', input.query['newest']) }),
    summary: 'The hardware event logs of nodes.',
    example: { reply: { n1: { eventlog: ['11/15/2026 09:05:00 Power Supply, Presence Detected (PSU1 Status)'] } } },
  }),
  endpoint('DELETE /nodes/{noderange}/eventlog', {
    command: reventlog,
    args: (input) => ({ ...nodesOf(input), clear: true }),
    summary: 'Clear the hardware event logs.',
  }),
  endpoint('GET /nodes/{noderange}/beacon', {
    command: rbeacon,
    reply: 'attributes',
    args: (input) => ({ range: rangeOf(input), action: 'stat' }),
    summary: 'Whether the identification light is on, where the hardware reports it.',
    example: { reply: { n1: { beacon: 'off' } } },
  }),
  endpoint('PUT /nodes/{noderange}/beacon', {
    command: rbeacon,
    body: actionBody('missing-member', 'on', 'off', 'blink'),
    args: (input) => ({ ...nodesOf(input), action: needed(input, 'action', 'missing-member') }),
    summary: 'Switch the identification light.',
    example: { body: { action: 'on' } },
  }),
  endpoint('GET /nodes/{noderange}/subnodes', {
    command: rscan,
    reply: 'attributes',
    args: (input) => ({ range: rangeOf(input) }),
    summary: 'The nodes behind a chassis or a management module, or the machines of a hypervisor.',
    description:
      'Of a hypervisor it shows the machines that the rules for rscan cover; machines that are no nodes need a rule without a noderange.',
    example: {
      path: '/nodes/chassis1/subnodes',
      reply: { 'chassis1-Sled1': { type: 'chassis', model: 'LabSled 100', serial: 'SL0000011', slot: '1' } },
    },
  }),
];
