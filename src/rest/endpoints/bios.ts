import { Type } from 'typebox';
import { rbios } from '../../commands/index.ts';
import { Fault } from '../../core/errors.ts';
import { biosTimes } from '../../drivers/index.ts';
import { splitList } from './definitions.ts';
import { endpoint, type Endpoint, type Input, members, nodesOf, requiredText } from './endpoint.ts';

const Value = Type.Union([Type.String(), Type.Number(), Type.Boolean()]);

const detailed = ({ query }: Input): { readonly details?: true } => {
  const { allowed } = query;
  if (allowed !== undefined && allowed !== '1')
    throw new Fault('malformed', 'allowed: the value is 1, or leave it out.');
  return allowed === '1' ? { details: true } : {};
};
const query = { allowed: '1: also what each setting takes, and which of them every machine has of its own (own)' };

const Texts = Type.Record(Type.String(), Type.String());
const Notes = Type.Array(Type.String());
const byNode = Type.Record(
  Type.String(),
  Type.Object({
    current: Type.Optional(Texts),
    pending: Type.Optional(Texts),
    notes: Type.Optional(Notes),
    allowed: Type.Optional(Texts),
    own: Type.Optional(Notes),
  }),
);

const found = {
  current: { BootMode: 'Uefi', ProcHyperThreading: 'Enabled' },
  pending: { ProcHyperThreading: 'Disabled' },
};

export const bios: Endpoint[] = [
  endpoint('GET /nodes/{noderange}/bios', {
    command: rbios,
    reply: 'object',
    returns: byNode,
    query,
    args: (input) => ({ range: input.params['noderange']!, action: 'get' as const, ...detailed(input) }),
    summary: 'BIOS settings of nodes: what they run with (current), and what waits for the next restart (pending).',
    description:
      'Names and values are those of the BIOS, read by Redfish. Passwords are hidden. A member notes says what else there is to know: that defaults wait, or what the BIOS refused of the last change.',
    example: { reply: { n1: found } },
    only: '/muster',
  }),
  endpoint('GET /nodes/{noderange}/bios/{settings}', {
    command: rbios,
    reply: 'object',
    returns: byNode,
    query,
    args: (input) => ({
      range: input.params['noderange']!,
      action: 'get' as const,
      names: [...splitList(input.params['settings']!)],
      ...detailed(input),
    }),
    summary: 'The named BIOS settings of nodes.',
    description: 'A name that the BIOS of a node does not have is an error for that node.',
    example: { path: '/nodes/n1/bios/BootMode', reply: { n1: { current: { BootMode: 'Uefi' }, pending: {} } } },
    only: '/muster',
  }),
  endpoint('PUT /nodes/{noderange}/bios', {
    command: rbios,
    reply: 'object',
    returns: byNode,
    body: members({
      settings: Type.Object({}, { additionalProperties: Value, description: 'names with their values' }),
      when: Type.Optional(
        Type.Enum(biosTimes, {
          description: 'restart (the default): when the machine restarts next; now: at once, where the BIOS can',
        }),
      ),
    }),
    args: (input) => ({
      ...nodesOf(input),
      action: 'set' as const,
      set: settingsIn(input),
      when: input.body['when'] as (typeof biosTimes)[number] | undefined,
    }),
    summary: 'Change BIOS settings. They take effect when the machine restarts.',
    description:
      'muster checks all values against what the BIOS says that it takes, and refuses them before it sends anything. It sends only what differs, reads it back, and answers what is so now and what waits. If the BIOS takes some settings and refuses others, the error of the node names both.',
    example: {
      body: { settings: { ProcHyperThreading: 'Disabled' } },
      reply: { n1: { current: { ProcHyperThreading: 'Enabled' }, pending: { ProcHyperThreading: 'Disabled' } } },
    },
    only: '/muster',
  }),
  endpoint('POST /nodes/{noderange}/bios', {
    command: rbios,
    reply: 'object',
    returns: byNode,
    body: members({ action: requiredText('missing-action', 'reset: all settings return to their defaults') }),
    args: (input) => ({ ...nodesOf(input), action: resetIn(input) }),
    summary: 'Reset the BIOS settings of nodes to their defaults, when the machines restart next.',
    example: {
      body: { action: 'reset' },
      reply: { n1: { notes: ['All settings return to their defaults when the machine restarts.'] } },
    },
    only: '/muster',
  }),
];

function settingsIn({ body }: Input): Readonly<Record<string, string>> {
  const settings = (body['settings'] ?? {}) as Readonly<Record<string, string | number | boolean>>;
  return Object.fromEntries(Object.entries(settings).map(([name, value]) => [name, String(value)]));
}

function resetIn({ body }: Input): 'reset' {
  if (body['action'] === 'reset') return 'reset';
  throw new Fault('invalid', 'The action is reset, which returns all settings to their defaults.');
}
