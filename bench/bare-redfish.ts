/**
 * The least a warm question to a Redfish service can cost: one kept connection of undici each, and at every SIGUSR2 one GET of the
 * computer system from each service, all at once. Arguments: a file with the addresses, one a line. Prints `ready` when the systems
 * are found and `round <number>` when all have answered.
 */
import { readFileSync } from 'node:fs';
import { Client } from 'undici';
import { labAccounts } from '../test/lab/addresses.ts';

const { username, password } = labAccounts.administrator;
const headers = { authorization: `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}` };
const addresses = readFileSync(process.argv[2] ?? '', 'utf8')
  .trim()
  .split('\n');
let rounds = 0;

interface Found {
  readonly client: Client;
  readonly path: string;
}

async function get({ client, path }: Found): Promise<string> {
  const { statusCode, body } = await client.request({ method: 'GET', path, headers });
  const text = await body.text();
  if (statusCode !== 200) throw new Error(`GET ${path}: ${statusCode} ${text}`);
  return text;
}

async function find(address: string): Promise<Found> {
  const client = new Client(`https://${address}`, {
    connect: { rejectUnauthorized: false },
    keepAliveTimeout: 600_000,
  });
  const systems = JSON.parse(await get({ client, path: '/redfish/v1/Systems' })) as {
    Members: { '@odata.id': string }[];
  };
  return { client, path: systems.Members[0]!['@odata.id'] };
}

const found = await Promise.all(addresses.map(find));
process.on('SIGUSR2', () => {
  rounds++;
  void Promise.all(found.map(get)).then(() => console.log(`round ${rounds}`));
});
process.once('SIGTERM', () => process.exit(0));
// Neither signals nor unused connections keep a process alive.
setInterval(() => undefined, 60_000);
console.log('ready');
