import type { TestServer } from './server.ts';

export const passwordOf = (name: string): string => `${name}-password`;

/** Makes an account and answers a token of its own. */
export async function addUser(server: TestServer, name: string): Promise<string> {
  await server.ok('PUT', `/tables/passwd/rows/key=xcat,username=${name}`, { password: passwordOf(name) });
  return logIn(server, name);
}

export async function logIn(server: TestServer, name: string, password = passwordOf(name)): Promise<string> {
  const { token } = await server.ok('POST', '/tokens', { userName: name, userPW: password }, { token: null });
  return token.id;
}

/** Defines nodes that differ in nothing but their names. */
export async function defineNodes(server: TestServer, range: string, attributes: object = {}): Promise<void> {
  await server.ok('POST', `/nodes/${range}`, { groups: 'all', ...attributes });
}
