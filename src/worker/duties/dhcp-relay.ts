import { execFile } from 'node:child_process';
import { networkInterfaces } from 'node:os';
import { promisify } from 'node:util';
import type { DhcpDuty } from '../../bus/index.ts';
import { Fault } from '../../core/errors.ts';
import { type DaemonSpec, installedProgram } from '../../names/index.ts';
import type { WorkerSettings } from '../settings.ts';
import { receivesAt } from './sockets.ts';

/** Of DHCP servers, and of relays. */
const serverPort = 67;

/** Relays DHCP requests of nodes to the server, and its answers to the nodes. */
export async function dhcpRelay(
  { servers: known }: DhcpDuty,
  { dhcpInterfaces: interfaces = [], dhcpServers }: WorkerSettings,
): Promise<DaemonSpec> {
  if (interfaces.length === 0)
    throw new Fault(
      'invalid',
      'It relays no DHCP requests, though setupdhcp is 1: set worker.dhcpInterfaces in its configuration and restart it.',
    );
  const servers = dhcpServers ?? known;
  if (servers.length === 0)
    throw new Fault(
      'invalid',
      'It relays no DHCP requests, because it does not know the DHCP server: PUT /globalconf/attrs/master {"master":"ADDRESS"}, or set worker.dhcpServers in its configuration.',
    );
  const program = installedProgram('dhcrelay', 'the ISC DHCP relay (Debian: apt install isc-dhcp-relay)');
  for (const name of interfaces) checkInterface(name);
  const routes = new Set(await Promise.all(servers.map(interfaceTowards)));
  const facing = (towards: 'nodes' | 'server' | 'both'): string[] =>
    [...new Set([...interfaces, ...routes])].filter(
      (name) => directionOf(interfaces.includes(name), routes.has(name)) === towards,
    );
  return {
    name: 'dhcrelay',
    unit: '',
    command: [
      program,
      '-4',
      '-d',
      '--no-pid',
      ...facing('nodes').flatMap((name) => ['-id', name]),
      ...facing('server').flatMap((name) => ['-iu', name]),
      ...facing('both').flatMap((name) => ['-i', name]),
      ...servers,
    ],
    ready: (pid) => Promise.resolve(receivesAt(serverPort, pid)),
  };
}

const directionOf = (hasNodes: boolean, hasServer: boolean): 'nodes' | 'server' | 'both' =>
  hasNodes && hasServer ? 'both' : hasNodes ? 'nodes' : 'server';

function checkInterface(name: string): void {
  const addresses = networkInterfaces()[name];
  if (addresses?.some(({ family }) => family === 'IPv4')) return;
  throw new Fault(
    'unavailable',
    `It relays no DHCP requests: this machine has no interface ${name} with an IPv4 address (setting worker.dhcpInterfaces).`,
  );
}

const run = promisify(execFile);

/** The interface by which the server answers: the relay has to listen there too. */
async function interfaceTowards(server: string): Promise<string> {
  try {
    const { stdout } = await run('ip', ['-j', 'route', 'get', server], { timeout: 10_000 });
    const [route] = JSON.parse(stdout) as { dev: string }[];
    return route!.dev;
  } catch (error) {
    const sentence = `It relays no DHCP requests: it has no route to the DHCP server ${server}.`;
    throw new Fault('unavailable', sentence, { cause: error });
  }
}
