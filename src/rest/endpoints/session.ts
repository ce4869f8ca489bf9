import { Type } from 'typebox';
import { lsmynodes, lssession, rmtoken, startsession } from '../../commands/index.ts';
import { endpoint, type Endpoint, members } from './endpoint.ts';

const expire = Type.String({ description: 'a time such as 2026-11-16 9:5:0, or never' });
const csrf = Type.String({ description: 'for the header X-CSRF-Token' });
const user = Type.String({ description: 'the account' });
const full = Type.Boolean({ description: 'the policy lets the account do everything' });

const example = {
  user: 'root',
  csrf: 'V1S3u0Iu2M9v3bPWf3cJm1cJr0oCk5y6mS0b2bqg0lE',
  expire: '2026-11-16 9:5:0',
  full: true,
};

export const sessionReply = Type.Object({
  user,
  csrf: Type.Optional(csrf),
  expire: Type.Optional(expire),
  full,
});

/** Sessions of browsers: the web console signs in with them. */
export const session: Endpoint[] = [
  endpoint('POST /session', {
    command: startsession,
    reply: 'object',
    returns: Type.Object({ user, csrf, expire, full }),
    body: members(
      { userName: Type.Optional(Type.String()), userPW: Type.Optional(Type.String()) },
      'the account; may also be given in the query',
    ),
    byAccount: true,
    session: 'begins',
    summary: 'Sign in with a browser: sets a cookie that stands for a new token.',
    description:
      'The cookie __Host-muster-session is HttpOnly, Secure and SameSite=Strict, and counts at /muster only, where no other credentials are sent. It is a token like those of POST /tokens and ends like one. With it, a request that changes something needs the header X-CSRF-Token with the value of csrf; events and consoles are only for pages of this server. Pages of other sites are refused.',
    example: { body: { userName: 'root', userPW: 'PASSWORD' }, reply: example },
    only: '/muster',
  }),
  endpoint('GET /session', {
    command: lssession,
    args: ({ csrf: shown }) => (shown === undefined ? {} : { csrf: shown }),
    reply: 'object',
    returns: sessionReply,
    summary: 'Who you are, until when, and what the page of a session needs to change something.',
    description: 'csrf is there if the request came with the cookie of a session, expire if it came with a token.',
    example: { reply: { user: 'root', expire: '2026-11-16 9:5:0', full: true } },
    only: '/muster',
  }),
  endpoint('GET /session/nodes', {
    command: lsmynodes,
    reply: 'list',
    summary: 'The nodes that you may list.',
    description:
      'GET /nodes is refused to accounts with rights on some nodes only, since it is about all of them; here they find out which nodes they may ask about.',
    example: { reply: ['n1', 'n2'] },
    only: '/muster',
  }),
  endpoint('DELETE /session', {
    command: rmtoken,
    args: () => ({ all: false }),
    summary: 'Sign out: revoke the token of the session, and remove its cookie.',
    only: '/muster',
    needsToken: true,
    session: 'ends',
  }),
];
