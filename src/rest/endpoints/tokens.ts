import { Type } from 'typebox';
import { gettoken, lstoken, rmtoken } from '../../commands/index.ts';
import { endpoint, type Endpoint, members } from './endpoint.ts';

const expire = Type.String({ description: 'a time such as 2026-11-16 9:5:0, or never' });

export const tokens: Endpoint[] = [
  endpoint('POST /tokens', {
    command: gettoken,
    reply: 'object',
    returns: Type.Object({ token: Type.Object({ id: Type.String(), expire }) }),
    body: members(
      { userName: Type.Optional(Type.String()), userPW: Type.Optional(Type.String()) },
      'the account; may also be given in the query',
    ),
    byAccount: true,
    summary: 'A token to send in the header X-Auth-Token instead of account and password.',
    description:
      'It is valid for one day, or as the site attribute tokenexpiredays says: a number of days, or never. It ends earlier when the account changes. An account has at most 5,000; when it takes one more, the tenth of them that were unused longest are revoked.',
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
          created: Type.String(),
          expire,
          access: Type.String({ description: 'when it was last used' }),
          current: Type.Boolean({ description: 'this request was sent with it' }),
        }),
      ),
    }),
    summary: 'Your own tokens, without their ids.',
    example: {
      reply: {
        tokens: [
          {
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
    summary: 'Revoke all your tokens.',
    only: '/muster',
  }),
];
