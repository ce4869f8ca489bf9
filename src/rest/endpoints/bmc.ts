import { Type } from 'typebox';
import { bmcaccounts, bmccertificates, bmccertify, bmcrotate, lsbmcauthority } from '../../commands/index.ts';
import { Fault } from '../../core/errors.ts';
import { endpoint, type Endpoint, type Input, members, nodesOf, requiredText } from './endpoint.ts';

const password = (description: string) => Type.String({ description, minLength: 1, maxLength: 128 });
const switched = Type.Enum(['yes', 'no'], { description: 'whether somebody can log in with it' });
const roles = 'administrator, operator or readonly';

/** A member of the body; those that have to be there are looked for here, so that the sentence names them. */
function needed({ body }: Input, member: string): string {
  const value = body[member] as string | undefined;
  if (value === undefined || value === '') throw new Fault('missing-member', `The body lacks the member "${member}".`);
  return value;
}

const enabledIn = ({ body }: Input): boolean | undefined =>
  body['enabled'] === undefined ? undefined : body['enabled'] === 'yes';

const Certificate = Type.Object({
  subject: Type.String(),
  issuer: Type.String(),
  names: Type.String(),
  ends: Type.String(),
  fingerprint: Type.String(),
});
const certificatesByNode = Type.Record(
  Type.String(),
  Type.Object({ shown: Certificate, others: Type.Optional(Type.Array(Certificate)) }),
);
const exampleCertificate = {
  subject: 'O=muster, CN=10.3.0.1',
  issuer: 'O=muster, CN=muster BMC CA mn1 2026-11-19T10:00',
  names: '10.3.0.1',
  ends: '2029-02-21T10:00:00.000Z',
  fingerprint: '3A:5C:...',
};
const exampleDone = { certificate: 'replaced', ends: '2029-02-21T10:00:00.000Z' };

/** Accounts and certificates of BMCs. */
export const bmc: Endpoint[] = [
  endpoint('GET /nodes/{noderange}/sp/accounts', {
    command: bmcaccounts,
    reply: 'attributes',
    only: '/muster',
    args: ({ params }) => ({ range: params['noderange']!, action: 'list' as const }),
    summary: 'The accounts of BMCs: role, whether they are enabled, and which of them muster uses.',
    example: {
      path: '/nodes/n1/sp/accounts',
      reply: { n1: { admin: ['administrator', 'enabled', 'used by muster', 'id 2'] } },
    },
  }),
  endpoint('POST /nodes/{noderange}/sp/accounts', {
    command: bmcaccounts,
    only: '/muster',
    body: members({
      username: requiredText('missing-member', 'letters, digits and . _ @ -; IPMI takes up to 16'),
      password: requiredText('missing-member', 'as long as the BMC wants it; IPMI takes up to 20 bytes'),
      role: requiredText('missing-member', roles),
    }),
    args: (input) => ({
      ...nodesOf(input),
      action: 'add' as const,
      name: needed(input, 'username'),
      password: needed(input, 'password'),
      role: needed(input, 'role'),
    }),
    summary: 'Make an account on BMCs.',
    description:
      'The account is read back, and muster logs in with it once. What fails leaves no account behind that could be used.',
    example: { path: '/nodes/n1/sp/accounts', body: { username: 'audit', password: 'a-Secret-9', role: 'readonly' } },
  }),
  endpoint('PUT /nodes/{noderange}/sp/accounts/{bmcaccount}', {
    command: bmcaccounts,
    only: '/muster',
    body: members({
      password: Type.Optional(password('the new password')),
      role: Type.Optional(Type.String({ description: roles })),
      enabled: Type.Optional(switched),
    }),
    args: (input) => ({
      ...nodesOf(input),
      action: 'change' as const,
      name: input.params['bmcaccount']!,
      password: input.body['password'] as string | undefined,
      role: input.body['role'] as string | undefined,
      enabled: enabledIn(input),
    }),
    summary: 'Change the role or the password of an account of BMCs, or enable or disable it.',
    description: 'The account that muster itself uses is refused.',
    example: { path: '/nodes/n1/sp/accounts/audit', body: { role: 'operator' } },
  }),
  endpoint('DELETE /nodes/{noderange}/sp/accounts/{bmcaccount}', {
    command: bmcaccounts,
    only: '/muster',
    args: (input) => ({ ...nodesOf(input), action: 'remove' as const, name: input.params['bmcaccount']! }),
    summary: 'Remove an account of BMCs.',
    description: 'The account that muster itself uses is refused.',
    example: { path: '/nodes/n1/sp/accounts/audit' },
  }),
  endpoint('POST /nodes/{noderange}/sp/rotate', {
    command: bmcrotate,
    reply: 'attributes',
    only: '/muster',
    body: members({
      length: Type.Optional(
        Type.Integer({ minimum: 12, maximum: 64, description: 'characters; without it 16, or what the BMC takes' }),
      ),
    }),
    args: (input) => ({ ...nodesOf(input), length: input.body['length'] as number | undefined }),
    summary: 'Give the accounts by which muster reaches BMCs new random passwords, each BMC its own.',
    description:
      'The new password is stored before it is sent, and the one before is kept until a login has shown which one counts. If muster or the BMC stops in between, muster finds out later by itself, and so does the same request. The right to a node is not enough: it needs a rule without a noderange.',
    example: { path: '/nodes/n1/sp/rotate', body: {}, reply: { n1: { password: 'rotated' } } },
  }),
  endpoint('GET /bmcauthority', {
    command: lsbmcauthority,
    reply: 'object',
    only: '/muster',
    returns: Type.Object({ certificate: Type.String(), ends: Type.String() }),
    summary: "The certificate of muster's authority for BMCs, in PEM form. Its key never leaves muster.",
    description: 'Both are empty until muster has signed the first certificate of a BMC.',
    example: { reply: { certificate: '-----BEGIN CERTIFICATE-----\n...', ends: '2036-11-16T10:00:00.000Z' } },
  }),
  endpoint('GET /nodes/{noderange}/sp/certificates', {
    command: bmccertificates,
    reply: 'object',
    returns: certificatesByNode,
    only: '/muster',
    args: ({ params }) => ({ range: params['noderange']!, action: 'list' as const }),
    summary:
      'The certificates of Redfish services: the one that is shown, and others that the BMC has for its web server.',
    example: { path: '/nodes/n1/sp/certificates', reply: { n1: { shown: exampleCertificate } } },
  }),
  endpoint('POST /nodes/{noderange}/sp/certificaterequests', {
    command: bmccertificates,
    reply: 'attributes',
    only: '/muster',
    body: members({
      subject: Type.Optional(
        Type.String({ description: 'what it says of who wants it: O=Example,OU=HPC,L=Bonn,ST=NRW,C=DE' }),
      ),
    }),
    args: (input) => ({
      ...nodesOf(input),
      action: 'request' as const,
      subject: input.body['subject'] as string | undefined,
    }),
    summary: 'Have BMCs make a new key and a request for a certificate, for an authority of the site to sign.',
    description:
      'The names are those of the definitions: bmc of the node, and its address. muster refuses a request for other names, or with a weak key. The BMC goes on with its certificate until another is installed.',
    example: {
      path: '/nodes/n1/sp/certificaterequests',
      body: {},
      reply: { n1: { request: '-----BEGIN CERTIFICATE REQUEST-----\n...' } },
    },
  }),
  endpoint('POST /nodes/{noderange}/sp/certificates', {
    command: bmccertify,
    reply: 'attributes',
    only: '/muster',
    body: members({
      within: Type.Optional(
        Type.Integer({ minimum: 0, maximum: 3_650, description: 'only those that end within so many days' }),
      ),
    }),
    args: (input) => ({ ...nodesOf(input), within: input.body['within'] as number | undefined }),
    summary: "Give BMCs new certificates, signed by muster's authority for BMCs.",
    description:
      'A new connection has to show the new certificate before it counts; the one before counts until then, also if muster or the BMC stops in between. The right to a node is not enough: it needs a rule without a noderange.',
    example: { path: '/nodes/n1/sp/certificates', body: { within: 30 }, reply: { n1: exampleDone } },
  }),
  endpoint('PUT /nodes/{noderange}/sp/certificates', {
    command: bmccertify,
    reply: 'attributes',
    only: '/muster',
    body: members({
      certificates: Type.Record(Type.String(), Type.String(), {
        description: 'by node, in PEM form; those that lead to the authority follow behind',
        'x-lack': 'missing-member',
      }),
    }),
    args: (input) => ({ ...nodesOf(input), certificates: input.body['certificates'] as Record<string, string> }),
    summary: 'Install certificates that an authority of the site has signed.',
    description:
      'Each has to be for the address by which muster reaches the BMC, and is verified as with POST. With the setting hardware.ca it has to lead to an authority of that file.',
    example: {
      path: '/nodes/n1/sp/certificates',
      body: { certificates: { n1: '-----BEGIN CERTIFICATE-----\n...' } },
      reply: { n1: exampleDone },
    },
  }),
];
