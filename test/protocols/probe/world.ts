/** Runs in a network of its own: what is on loopback answers, what is behind the cable to nowhere does not. Prints what is seen. */
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { AddressGuard } from '../../../src/core/address-guard.ts';
import { PortProbe } from '../../../src/protocols/probe/ports.ts';
import { NodeProbes, usualApplications } from '../../../src/nodes/node-probes.ts';

const ip = (...args: string[]): void => void execFileSync('ip', args);
ip('link', 'set', 'lo', 'up');
ip('link', 'add', 'cable', 'type', 'veth', 'peer', 'name', 'nowhere');
ip('address', 'add', '10.9.0.1/16', 'dev', 'cable');
for (const end of ['cable', 'nowhere']) ip('link', 'set', end, 'up');

const listeners = [];
for (const [address, port] of [
  ['127.9.0.1', 22],
  ['127.9.0.1', 443],
  ['127.9.0.2', 3389],
  ['::1', 24],
] as const) {
  const server = createServer().listen(port, address);
  await once(server, 'listening');
  listeners.push(server);
}
const installer = createServer((socket) => {
  socket.on('error', () => undefined);
  socket.once('data', (asked) => socket.end(`installing ${String(asked).trim()}\u0007\nmore`));
}).listen(3001, '127.9.0.3');
await once(installer, 'listening');

const probes = new NodeProbes(new AddressGuard(undefined));
const never = new AbortController().signal;
const look = (address: string) => probes.look(address, usualApplications, never);
const many = (prefix: string, count: number) =>
  Array.from({ length: count }, (_, i) => `${prefix}.${i >> 8}.${i & 255}`);
// In turns, so that packets to those that are away are in the way of the others.
const away = many('10.9', 1_002).slice(2);
const mixed = many('127.10', 1_000).flatMap((address, i) => [address, away[i]!]);
const sightings = await Promise.all(mixed.map(look));
const up = sightings.filter((_, i) => i % 2 === 0);
const down = sightings.filter((_, i) => i % 2 === 1);
const ports = new PortProbe();
const silent = await Promise.all(away.slice(0, 700).map((address) => ports.state(address, 22, never)));
console.log(
  JSON.stringify({
    silent: silent.filter((state) => state === 'silent').length,
    ports: await Promise.all(
      (
        [
          ['127.9.0.1', 22],
          ['127.9.0.1', 23],
          ['::1', 24],
          ['::1', 25],
          ['255.255.255.255', 22],
        ] as const
      ).map(([address, port]) => ports.state(address, port, never)),
    ),
    several: await look('127.9.0.1'),
    one: await look('127.9.0.2'),
    none: await look('127.9.0.4'),
    six: await look('::1'),
    up: up.filter(({ alive }) => alive).length,
    down: down.filter(({ alive }) => !alive).length,
    installer: await probes.installer('127.9.0.3', never),
    noInstaller: (await probes.installer('127.9.0.4', never)) ?? null,
  }),
);
for (const server of [...listeners, installer]) server.close();
