import { Type } from 'typebox';
import { gettoken, lstoken, rmtoken } from '../../commands/index.ts';
import { commandNames } from '../../commands/registry.ts';
import { Fault } from '../../core/errors.ts';
import { suggestion } from '../../core/nearest.ts';
import { endpoint, type Endpoint, type Input, members } from './endpoint.ts';

interface Wanted {
  readonly commands?: string;
  readonly noderange?: string;
  readonly days?: number;
  readonly name?: string;
}

function wantedToken({ root, body }: Input): Wanted {
  const { commands, noderange, days, name }: Wanted = body;
  if (!root.limitsTokens) {
    // To ignore these would give more than was asked for.
    const asked = ['commands', 'noderange', 'days'].find((member) => Object.hasOwn(body, member));
    if (asked === undefined) return {};
    throw new Fault('unknown-member', `${root.prefix} has no tokens with "${asked}"; POST /muster/tokens makes them.`);
  }
  const names = commands?.split(',').map((each) => each.trim());
  const unknown = names?.find((each) => !commandNames.has(each));
  if (unknown !== undefined)
    throw new Fault(
      'invalid',
      `commands: there is no command "${unknown}".${suggestion(unknown, [...commandNames])} Nothing was made.`,
    );
  return {
    ...(names && { commands: names.join(',') }),
    ...(noderange !== undefined && { noderange }),
    ...(days !== undefined && { days }),
    ...(name !== undefined && { name }),
  };
}

const expire = Type.String({ description: 'a time such as 2026-11-16 9:5:0, or never' });

export const tokens: Endpoint[] = [
  endpoint('POST /tokens', {
    command: gettoken,
    reply: 'object',
    returns: Type.Object({
      token: Type.Object({
        id: Type.String(),
        expire,
        publicId: Type.Optional(Type.String({ description: 'its id in the list of tokens, if it has limits' })),
      }),
    }),
    body: members(
      {
        userName: Type.Optional(Type.String()),
        userPW: Type.Optional(Type.String()),
        commands: Type.Optional(Type.String({ description: 'limits it to these commands: names that rules use' })),
        noderange: Type.Optional(Type.String({ description: 'limits it to these nodes, as they are at each use' })),
        days: Type.Optional(Type.Number({ description: 'how long it is valid; at most 366' })),
        name: Type.Optional(Type.String({ description: 'what it is for' })),
      },
      'the account, which may also be given in the query; limits are for /muster only',
    ),
    byAccount: 'first',
    args: wantedToken,
    summary: 'A token to send in the header X-Auth-Token instead of account and password.',
    description:
      'It is valid for one day, or as the site attribute tokenexpiredays says: a number of days, or never. It ends earlier when the account changes. With commands or noderange the token is limited: it can do what both it and its account may, it makes no tokens, and it sees no runs but its own. A token may ask for a limited one that ends no later than itself. An account has at most 500 with limits, and 5,000 others; when it takes one more of these, the tenth of them that were unused longest are revoked.',
    example: {
      body: { userName: 'root', userPW: 'PASSWORD' },
      reply: { token: { id: '5cabd675-bc2e-4318-b1d6-831fd1f32f97', expire: '2026-11-16 9:5:0' } },
    },
  }),
  endpoint('GET /tokens', {
    command: lstoken,
    reply: 'object',
    returns: Type.Object({
      tokens: Type.Array(
        Type.Object({
          id: Type.String({ description: 'what to revoke it by; it is no secret' }),
          name: Type.Optional(Type.String()),
          commands: Type.Optional(Type.String({ description: 'what it is limited to' })),
          noderange: Type.Optional(Type.String()),
          created: Type.String(),
          expire,
          access: Type.String({ description: 'when it was last used' }),
          current: Type.Boolean({ description: 'this request was sent with it' }),
        }),
      ),
    }),
    summary: 'Your own tokens, without what they are used by. A token with limits shows itself only.',
    example: {
      reply: {
        tokens: [
          {
            id: '9f86d081884c7d65',
            name: 'nightly report',
            commands: 'lsdef,nodels',
            noderange: 'rack1',
            created: '2026-11-15T09:05:00.000Z',
            expire: '2026-11-16 9:5:0',
            access: '2026-11-15T09:06:00.000Z',
            current: true,
          },
        ],
      },
    },
    only: '/muster',
  }),
  endpoint('DELETE /tokens', {
    command: rmtoken,
    args: () => ({ all: false }),
    summary: 'Revoke the token sent in X-Auth-Token.',
    only: '/muster',
    needsToken: true,
  }),
  endpoint('DELETE /tokens/all', {
    command: rmtoken,
    args: () => ({ all: true }),
    summary: 'Revoke all your tokens; a token with limits revokes itself.',
    only: '/muster',
  }),
  endpoint('DELETE /tokens/{id}', {
    command: rmtoken,
    args: ({ params }) => ({ id: params['id']! }),
    summary: 'Revoke one of your tokens by the id that GET /tokens shows.',
    example: { path: '/tokens/9f86d081884c7d65' },
    only: '/muster',
  }),
];
