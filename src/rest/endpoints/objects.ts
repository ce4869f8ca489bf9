import { Type } from 'typebox';
import { chdef, lsdef, lspolicy, lstemplate } from '../../commands/index.ts';
import { Fault } from '../../core/errors.ts';
import { siteObject } from '../../objects/definitions.ts';
import { definitionBody, modeOf } from './definition-body.ts';
import { atMoment, definitionRows, splitList } from './definitions.ts';
import { anyMembers, endpoint, type Endpoint, type Input } from './endpoint.ts';

const site = { type: 'site', names: siteObject } as const;
const named = ({ params }: Input): string[] => splitList(params['attributes']!);
const cleared = (input: Input): Record<string, string> => Object.fromEntries(named(input).map((name) => [name, '']));

export const globalconf: Endpoint[] = [
  endpoint('GET /globalconf', {
    command: lsdef,
    reply: 'attributes',
    query: atMoment,
    args: () => ({ type: 'site' }),
    summary: 'All attributes of the site.',
    example: { reply: { [siteObject]: { domain: 'cluster.example', master: '10.1.0.250' } } },
  }),
  endpoint('GET /globalconf/attrs/{attributes}', {
    command: lsdef,
    reply: 'attributes',
    query: atMoment,
    args: (input) => ({ type: 'site', attributes: named(input) }),
    summary: 'The named attributes of the site; unset ones are left out.',
    example: { path: '/globalconf/attrs/domain', reply: { [siteObject]: { domain: 'cluster.example' } } },
  }),
  endpoint('PUT /globalconf/attrs/{attributes}', {
    command: chdef,
    body: anyMembers('attribute: value'),
    args(input) {
      const { attributes, options } = definitionBody(input.body);
      if (input.root.comparesPathWithBody) {
        const absent = named(input).filter((name) => attributes[name] === undefined);
        if (absent.length > 0)
          throw new Fault('invalid', `The path names ${absent.join(', ')}, but the body does not say what to set.`);
      }
      return { ...site, attributes, mode: modeOf(options) } as const;
    },
    summary: 'Change or add attributes of the site; the body decides which.',
    example: { path: '/globalconf/attrs/domain', body: { domain: 'cluster.example' } },
  }),
  endpoint('DELETE /globalconf/attrs/{attributes}', {
    command: chdef,
    args: (input) => ({ ...site, attributes: cleared(input) }),
    summary: 'Remove attributes of the site.',
    example: { path: '/globalconf/attrs/domain' },
  }),
];

export const osimages: Endpoint[] = definitionRows({
  type: 'osimage',
  collection: 'osimages',
  segment: 'imgname',
  plural: 'operating system images',
  name: 'debian12-x86_64-install-compute',
  example: {
    imagetype: 'linux',
    osarch: 'x86_64',
    osname: 'Linux',
    osvers: 'debian12',
    profile: 'compute',
    provmethod: 'install',
  },
  newName: 'rocky9-x86_64-netboot-compute',
  newExample: {
    imagetype: 'linux',
    osarch: 'x86_64',
    osname: 'Linux',
    osvers: 'rocky9.2',
    profile: 'compute',
    provmethod: 'netboot',
  },
  changeExample: { pkglist: '/srv/muster/compute.pkglist' },
});

export const networks: Endpoint[] = definitionRows({
  type: 'network',
  collection: 'networks',
  segment: 'netname',
  plural: 'networks',
  name: 'management',
  example: { gateway: '10.1.255.254', mask: '255.255.0.0', mgtifname: 'eth0', net: '10.1.0.0' },
  newName: 'service',
  newExample: { net: '10.2.0.0', mask: '255.255.0.0' },
  changeExample: { gateway: '10.1.0.254' },
});

const verdict = { allowed: Type.Boolean(), why: Type.Array(Type.String()) };

const explainPolicy = endpoint('GET /policy/explain', {
  command: lspolicy,
  reply: 'object',
  returns: Type.Object({
    ...verdict,
    fullRights: Type.Boolean({ description: 'the account may do everything' }),
    source: Type.Optional(Type.String({ description: 'where the account comes from, if not from table passwd' })),
    groups: Type.Optional(Type.Array(Type.String(), { description: 'its groups there' })),
    rule: Type.Optional(Type.String({ description: 'the priority of the rule that decided' })),
    node: Type.Optional(Type.String({ description: 'the first node that is refused, if any is' })),
    trust: anyMembers('arguments that decide trust', Type.Object(verdict)),
  }),
  query: {
    user: 'The account; required.',
    command: 'The command, such as chdef, rpower or setNodesAttribs; required.',
    noderange: 'The nodes it would be about; leave it out for a request that names none.',
    line: 'The argument line that rules for parameters see, such as: -t node -o n1 bmc=10.1.0.1',
    host: 'The address or name that the request would come from.',
  },
  args: ({ query: { user = '', command = '', noderange, line = '', host } }) => ({
    user,
    command,
    range: noderange,
    line,
    host,
  }),
  summary:
    'Why an account may run a command or not: what every rule for it says, and what the arguments decide about trust.',
  description:
    'Nothing is run. Arguments that decide trust (see docs/security.md) are judged apart, each under its name in trust: a rule that is limited to a noderange covers them only if its parameters name them.',
  example: {
    query: { user: 'operator', command: 'chdef', noderange: 'n1', line: '-t node -o n1 bmc=10.1.0.1' },
    reply: {
      allowed: false,
      fullRights: false,
      node: 'n1',
      why: ['No other rule allows it.'],
      trust: { bmc: { allowed: false, why: ['No other rule allows it.'] } },
    },
  },
});

const policyRules = definitionRows({
  type: 'policy',
  collection: 'policy',
  segment: 'policy_priority',
  plural: 'policy rules',
  name: '1',
  example: { name: 'root', rule: 'allow' },
  newName: '6.1',
  newExample: { name: 'operator', commands: 'lsdef,nodels', rule: 'allow' },
  changeExample: { usercomment: 'the administrator' },
  postChanges: true,
});

export const policy: Endpoint[] = [explainPolicy, ...policyRules];

export const groups: Endpoint[] = definitionRows({
  type: 'group',
  collection: 'groups',
  segment: 'groupname',
  plural: 'groups',
  name: 'compute',
  example: { members: 'n1,n2', mgt: 'ipmi' },
  newName: 'ipminodes',
  newExample: { grouptype: 'dynamic', wherevals: 'mgt==ipmi' },
  changeExample: { members: 'n1,n2', netboot: 'xnba' },
  createOnlyAtMuster: true,
});

function templateName({ body, query }: Input): string {
  const template = definitionBody(body).options.template ?? query['template'];
  if (!template)
    throw new Fault(
      'missing-member',
      'Name the template: ?template=NAME, or {"options":{"--template":"NAME"}} in the body; GET /templates/node/all lists them.',
    );
  return template;
}

export const templates: Endpoint[] = [
  endpoint('GET /templates/node', {
    command: lstemplate,
    reply: 'attributes',
    body: Type.Object({ options: Type.Optional(Type.Object({ '--template': Type.String() })) }),
    query: { template: 'the name of the template, for those who send no body with a GET' },
    args: (input) => ({ template: templateName(input) }),
    summary: 'The attributes a template gives to new nodes.',
    example: {
      query: { template: 'switch-template' },
      reply: { 'switch-template': { groups: 'switch', ip: 'OPTIONAL:the ip address of the switch', mgt: 'switch' } },
    },
  }),
  endpoint('GET /templates/node/all', {
    command: lstemplate,
    reply: 'list',
    args: () => ({ template: undefined }),
    summary: 'Names of the templates for nodes.',
    example: { reply: ['switch-template', 'x86_64-template'] },
  }),
];
