import type { TestServer } from '../harness/server.ts';
import { labAccounts } from '../lab/addresses.ts';

type Attributes = Readonly<Record<string, string>>;

const { username, password } = labAccounts.administrator;

/** The attributes of a node whose BMC is one of a lab. */
export const labNode = (mgt: string, bmc: string, more: Attributes = {}): Attributes => ({
  groups: 'all',
  mgt,
  bmc,
  bmcusername: username,
  bmcpassword: password,
  ...more,
});

/** Makes nodes with one request. */
export async function define(server: TestServer, nodes: Readonly<Record<string, Attributes>>): Promise<void> {
  await server.ok('PUT', '/nodes', nodes);
}

/** Nodes called `name` and a number from 1 up, one for each address. */
export const labNodes = (name: string, mgt: string, addresses: readonly string[]): Record<string, Attributes> =>
  Object.fromEntries(addresses.map((bmc, index) => [`${name}${index + 1}`, labNode(mgt, bmc)]));
