import { randomBytes } from 'node:crypto';
import type { Bmc } from '../bmc.ts';
import { collection, done, failure, type Json, link, type Reply, root } from '../resource.ts';

const service = `${root}/SessionService`;
const sessions = `${service}/Sessions`;

/** Seconds without a request after which a session is gone. */
export const sessionTimeout = 300;

export function addSessions(bmc: Bmc): void {
  const { resources } = bmc;
  resources.set(service, {
    get: () => ({
      '@odata.id': service,
      '@odata.type': '#SessionService.v1_1_8.SessionService',
      Id: 'SessionService',
      Name: 'Session Service',
      ServiceEnabled: true,
      SessionTimeout: sessionTimeout,
      Sessions: link(sessions),
    }),
  });
  const members = () => [...bmc.sessions.values()].map(({ id }) => `${sessions}/${id}`);
  resources.set(
    sessions,
    collection(sessions, 'Session', members, { open: ['POST'], post: (body) => logIn(bmc, body) }),
  );
}

function logIn(bmc: Bmc, { UserName, Password }: Json): Reply {
  const account = bmc.accounts.find(({ username, password }) => username === UserName && password === Password);
  if (!account?.enabled) {
    return failure(401, 'ResourceAtUriUnauthorized', 'The user name or the password is wrong.');
  }
  if (bmc.sessions.size >= bmc.sessionLimit) {
    return failure(503, 'SessionLimitExceeded', 'The number of simultaneous sessions is at its limit.', {
      'Retry-After': '1',
    });
  }
  const id = randomBytes(5).toString('hex');
  const token = randomBytes(16).toString('hex');
  const path = `${sessions}/${id}`;
  bmc.sessions.set(token, { id, account, used: Date.now() });
  bmc.sessionsOpened += 1;
  const get = () => ({
    '@odata.id': path,
    '@odata.type': '#Session.v1_5_0.Session',
    Id: id,
    Name: 'User Session',
    UserName: account.username,
  });
  bmc.resources.set(path, { get, delete: () => logOut(bmc, token, path), privilege: 'ConfigureSelf' });
  return { status: 201, body: get(), headers: { ...(bmc.tokenless ? {} : { 'X-Auth-Token': token }), Location: path } };
}

function logOut(bmc: Bmc, token: string, path: string): Reply {
  bmc.sessions.delete(token);
  bmc.resources.delete(path);
  return done;
}

export function forgetSessions(bmc: Bmc): void {
  for (const [token, { id }] of bmc.sessions) logOut(bmc, token, `${sessions}/${id}`);
}

export function dropIdleSessions(bmc: Bmc): void {
  const oldest = Date.now() - sessionTimeout * 1000;
  for (const [token, { id, used }] of bmc.sessions) if (used < oldest) logOut(bmc, token, `${sessions}/${id}`);
}
