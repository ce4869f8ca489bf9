import { Type } from 'typebox';
import { rbeacon } from '../../commands/rbeacon.ts';
import { rbootseq } from '../../commands/rbootseq.ts';
import { renergy } from '../../commands/renergy.ts';
import { reventlog } from '../../commands/reventlog.ts';
import { rinv } from '../../commands/rinv.ts';
import { rpower } from '../../commands/rpower.ts';
import { rscan } from '../../commands/rscan.ts';
import { rsetboot } from '../../commands/rsetboot.ts';
import { rspconfig } from '../../commands/rspconfig.ts';
import { rvitals } from '../../commands/rvitals.ts';
import { Fault } from '../../core/errors.ts';
import { valueText } from '../definition-body.ts';
import { type Endpoint, endpoint, type Input } from '../endpoint.ts';
import { splitList } from './definitions.ts';

const range = 'noderange';
const rangeOf = ({ params }: Input): string => params['noderange']!;
/** What works on nodes wants at least one. */
const target = (input: Input) => ({ range: rangeOf(input), refuseEmpty: true }) as const;

/** A member without which there is nothing to do. `kind`: as what its lack counts, which the roots answer differently. */
function needed(input: Input, member: string, kind: 'missing-action' | 'missing-member'): string {
  const value = input.body[member];
  if (value === undefined || value === '') throw new Fault(kind, `The body lacks the member "${member}".`);
  if (typeof value !== 'string') throw new Fault('malformed', `"${member}" must be a string.`);
  return value;
}

const actionBody = (...known: string[]) =>
  Type.Object(
    { action: Type.Optional(Type.String({ description: known.join(', ') })) },
    { additionalProperties: false },
  );

/** The first attribute of the body, as the reference system reads it. */
function energySetting({ body }: Input): { attribute: string; value: string } {
  const [entry, ...more] = Object.entries(body);
  if (!entry) throw new Fault('missing-member', 'Give the attribute to set, for example {"cappingstatus":"on"}.');
  if (more.length > 0) throw new Fault('malformed', 'Set one energy attribute at a time.');
  return { attribute: entry[0], value: valueText(entry[0], entry[1]) };
}

/** Both forms of the body: {"ip":"10.0.0.1"} and {"value":"10.0.0.1"}. */
function processorSettings({ root, params, body }: Input): Record<string, string> {
  const attribute = params['attribute']!;
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

/** A list as an array or as text with commas. */
function neededList(input: Input, member: string): readonly string[] {
  const value = input.body[member];
  const items = typeof value === 'string' ? value.split(',') : ((value ?? []) as readonly string[]);
  const list = items.map((item) => item.trim()).filter((item) => item !== '');
  if (list.length === 0) throw new Fault('missing-member', `The body lacks the member "${member}".`);
  return list;
}

/** Settings whose values may be shown; any other, such as a mistyped password, may be a secret. */
const openSettings =
  /^(ip|ipsrc|netmask|gateway|backupgateway|garp|vlan|alert|hostname|ntp|ntpservers|userid|username|snmpdest\d*|autoreboot|powerrestorepolicy|timesyncmethod)$/;
/** What stands behind a `=` in the name is a value in the wrong place. */
const settingArguments = (settings: Readonly<Record<string, string>>): string[] =>
  Object.entries(settings).map(
    ([name, value]) => `${name.replace(/=.*/s, '')}=${openSettings.test(name) ? value : 'xxxxxxxx'}`,
  );

export const hardware: Endpoint[] = [
  endpoint({
    method: 'GET',
    path: '/nodes/{noderange}/power',
    command: rpower,
    reply: 'attributes',
    args: (input) => ({ range: rangeOf(input), action: 'stat' }),
    line: () => ['stat'],
    range,
    summary: 'The power state of nodes, read from their service processors.',
    example: { path: '/nodes/n1/power', reply: { n1: { power: 'on' } } },
  }),
  endpoint({
    method: 'PUT',
    path: '/nodes/{noderange}/power',
    command: rpower,
    reply: 'none',
    body: actionBody(
      'on, off, softoff, reset, boot, cycle, nmi, wake, suspend, stat, state',
      'of OpenBMC also bmcreboot, bmcstate',
    ),
    args: (input) => ({ ...target(input), action: needed(input, 'action', 'missing-action') }),
    line: (input) => [needed(input, 'action', 'missing-action')],
    range,
    summary: 'Change the power state.',
    description:
      'Answers when every node has reached the state or the deadline has passed. boot is reset when on, on when off.',
    example: { path: '/nodes/n1/power', body: { action: 'on' } },
  }),
  endpoint({
    method: 'GET',
    path: '/nodes/{noderange}/energy',
    command: renergy,
    reply: 'attributes',
    args: (input) => ({ range: rangeOf(input), attributes: [] }),
    line: () => ['all'],
    range,
    summary: 'Power consumption and capping of nodes.',
    example: {
      path: '/nodes/n1/energy',
      reply: { n1: { cappingstatus: 'off', cappingmin: '100 W', cappingmax: '500 W' } },
    },
  }),
  endpoint({
    method: 'GET',
    path: '/nodes/{noderange}/energy/{attributes}',
    command: renergy,
    reply: 'attributes',
    args: (input) => ({ range: rangeOf(input), attributes: splitList(input.params['attributes']!) }),
    line: ({ params }) => splitList(params['attributes']!),
    range,
    summary: 'The named energy attributes of nodes.',
    example: { path: '/nodes/n1/energy/cappingstatus', reply: { n1: { cappingstatus: 'off' } } },
  }),
  endpoint({
    method: 'PUT',
    path: '/nodes/{noderange}/energy',
    command: renergy,
    reply: 'none',
    body: Type.Object(
      {},
      {
        additionalProperties: true,
        description: 'cappingstatus: on or off; cappingvalue: watts, or percent of the range',
      },
    ),
    args: (input) => ({ ...target(input), attributes: [], set: energySetting(input) }),
    line: (input) => [`${energySetting(input).attribute}=${energySetting(input).value}`],
    range,
    summary: 'Set power capping.',
    example: { path: '/nodes/n1/energy', body: { cappingstatus: 'on' } },
  }),
  endpoint({
    method: 'GET',
    path: '/nodes/{noderange}/sp/{attribute}',
    command: rspconfig,
    reply: 'attributes',
    args: (input) => ({ range: rangeOf(input), attribute: input.params['attribute']! }),
    line: ({ params }) => [params['attribute']!.replace(/=.*/s, '=xxxxxxxx')],
    range,
    summary: 'A setting of the service processors: ip, netmask, gateway, vlan, community and others.',
    example: { path: '/nodes/n1/sp/ip', reply: { n1: { 'BMC IP': '127.10.0.1' } } },
  }),
  endpoint({
    method: 'PUT',
    path: '/nodes/{noderange}/sp/{attribute}',
    command: rspconfig,
    reply: 'none',
    body: Type.Object({}, { additionalProperties: true, description: 'the attribute and its value, or value alone' }),
    args: (input) => ({ ...target(input), attribute: input.params['attribute']!, set: processorSettings(input) }),
    line: (input) => settingArguments(processorSettings(input)),
    range,
    summary: 'Change a setting of the service processors.',
    description:
      'With a new ip the service processor is looked for at its new address, and the attribute bmc of the node follows if it was the old address, as the node’s own value even where a group gave it; what was done, or has to be done where it is a name, is told with debug=1 and in the result of the run.',
    example: { path: '/nodes/n1/sp/community', body: { value: 'private' } },
  }),
  endpoint({
    method: 'GET',
    path: '/nodes/{noderange}/nextboot',
    command: rsetboot,
    reply: 'attributes',
    args: (input) => ({ range: rangeOf(input), order: 'stat' }),
    line: () => ['stat'],
    range,
    summary: 'What nodes boot from next.',
    example: { path: '/nodes/n1/nextboot', reply: { n1: { nextboot: 'Network' } } },
  }),
  endpoint({
    method: 'PUT',
    path: '/nodes/{noderange}/nextboot',
    command: rsetboot,
    reply: 'none',
    body: Type.Object(
      {
        order: Type.Optional(Type.String({ description: 'net, hd, cd, floppy, def, setup' })),
        persistent: Type.Optional(Type.Enum(['yes', 'no'], { description: 'yes: for all boots, not the next alone' })),
        mode: Type.Optional(Type.Enum(['uefi', 'legacy'])),
      },
      { additionalProperties: false },
    ),
    args: (input) => ({
      ...target(input),
      order: needed(input, 'order', 'missing-action'),
      persistent: input.body['persistent'] === 'yes',
      mode: input.body['mode'] as 'uefi' | 'legacy' | undefined,
    }),
    line: (input) => [
      needed(input, 'order', 'missing-action'),
      ...(input.body['persistent'] === 'yes' ? ['-p'] : []),
      ...(input.body['mode'] === 'uefi' ? ['-u'] : []),
    ],
    range,
    summary: 'Choose what nodes boot from next.',
    example: { path: '/nodes/n1/nextboot', body: { order: 'net' } },
  }),
  endpoint({
    method: 'GET',
    path: '/nodes/{noderange}/bootorder',
    command: rbootseq,
    reply: 'attributes',
    args: (input) => ({ range: rangeOf(input) }),
    line: () => [],
    range,
    summary: 'What nodes try to boot from, in this order, where the hardware tells.',
    example: {
      path: '/nodes/n1/bootorder',
      reply: { n1: { bootorder: 'Network Adapter 1,Hard Drive,Network Adapter 2,Optical Drive' } },
    },
  }),
  endpoint({
    method: 'PUT',
    path: '/nodes/{noderange}/bootorder',
    command: rbootseq,
    reply: 'none',
    body: Type.Object(
      {
        order: Type.Optional(
          Type.Union([Type.Array(Type.String()), Type.String()], {
            description: 'names as GET shows them, first things first; an array, or text with commas',
          }),
        ),
      },
      { additionalProperties: false },
    ),
    args: (input) => ({ ...target(input), order: neededList(input, 'order') }),
    line: (input) => [neededList(input, 'order').join(',')],
    range,
    summary: 'Change what nodes try to boot from.',
    description: 'For good. What is not named stays behind what is, in the order it had.',
    example: { path: '/nodes/n1/bootorder', body: { order: ['Hard Drive', 'Network Adapter 1'] } },
  }),
  ...[
    {
      word: 'vitals',
      command: rvitals,
      kind: 'temp',
      what: 'Sensor readings',
      sample: { 'CPU1 Temp': '40 C (104 F)' },
    },
    {
      word: 'inventory',
      command: rinv,
      kind: 'model',
      what: 'What the hardware is',
      sample: { 'System Model/MTM': '7X00LAB' },
    },
  ].flatMap(({ word, command, kind, what, sample }) => [
    endpoint({
      method: 'GET',
      path: `/nodes/{noderange}/${word}`,
      command,
      reply: 'attributes',
      args: (input) => ({ range: rangeOf(input), kinds: [] }),
      line: () => ['all'],
      range,
      summary: `${what}.`,
      example: { path: `/nodes/n1/${word}`, reply: { n1: sample } },
    }),
    endpoint({
      method: 'GET',
      path: `/nodes/{noderange}/${word}/{kinds}`,
      command,
      reply: 'attributes',
      args: (input) => ({ range: rangeOf(input), kinds: splitList(input.params['kinds']!) }),
      line: ({ params }) => splitList(params['kinds']!),
      range,
      summary: `${what}, of the named kinds.`,
      example: { path: `/nodes/n1/${word}/${kind}`, reply: { n1: sample } },
    }),
  ]),
  endpoint({
    method: 'GET',
    path: '/nodes/{noderange}/eventlog',
    command: reventlog,
    reply: 'attributes',
    args: (input) => ({ range: rangeOf(input), clear: false }),
    line: () => ['all'],
    range,
    summary: 'The hardware event logs of nodes.',
    example: {
      path: '/nodes/n1/eventlog',
      reply: { n1: { eventlog: ['11/15/2026 09:05:00 Power Supply, Presence Detected (PSU1 Status)'] } },
    },
  }),
  endpoint({
    method: 'DELETE',
    path: '/nodes/{noderange}/eventlog',
    command: reventlog,
    reply: 'none',
    args: (input) => ({ ...target(input), clear: true }),
    line: () => ['clear'],
    range,
    summary: 'Clear the hardware event logs.',
    example: { path: '/nodes/n1/eventlog' },
  }),
  endpoint({
    method: 'GET',
    path: '/nodes/{noderange}/beacon',
    command: rbeacon,
    reply: 'attributes',
    args: (input) => ({ range: rangeOf(input), action: 'stat' }),
    line: () => ['stat'],
    range,
    summary: 'Whether the identification light is on, where the hardware tells.',
    example: { path: '/nodes/n1/beacon', reply: { n1: { beacon: 'off' } } },
  }),
  endpoint({
    method: 'PUT',
    path: '/nodes/{noderange}/beacon',
    command: rbeacon,
    reply: 'none',
    body: actionBody('on', 'off', 'blink'),
    args: (input) => ({ ...target(input), action: needed(input, 'action', 'missing-member') }),
    line: (input) => [needed(input, 'action', 'missing-member')],
    range,
    summary: 'Switch the identification light.',
    example: { path: '/nodes/n1/beacon', body: { action: 'on' } },
  }),
  endpoint({
    method: 'GET',
    path: '/nodes/{noderange}/subnodes',
    command: rscan,
    reply: 'attributes',
    args: (input) => ({ range: rangeOf(input) }),
    line: () => ['-z'],
    range,
    summary: 'The nodes behind a chassis or a management module.',
    example: {
      path: '/nodes/chassis1/subnodes',
      reply: { 'chassis1-Sled1': { type: 'chassis', model: 'LabSled 100', serial: 'SL0000011', slot: '1' } },
    },
  }),
];
