/** Runs in a network of its own, where every address on loopback answers and 10.9.0.0/16 is behind a router that swallows all. Prints the times. */
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { putCluster, nodeName } from './cluster.ts';
import { run } from './process.ts';
import { newDirectory, root, startMuster } from './server.ts';

const count = 10_000;
const isDown = (i: number): boolean => i % 20 === 0;
const ports = '22,135,443,3389,8002,15002';
const rounds = 3;

const ip = (...args: string[]): void => void execFileSync('ip', args);
ip('link', 'set', 'lo', 'up');
ip('link', 'add', 'cable', 'type', 'veth', 'peer', 'name', 'nowhere');
ip('address', 'add', '10.8.0.1/24', 'dev', 'cable');
for (const end of ['cable', 'nowhere']) ip('link', 'set', end, 'up');
ip('neighbour', 'add', '10.8.0.2', 'lladdr', '02:00:00:00:00:02', 'dev', 'cable', 'nud', 'permanent');
ip('route', 'add', '10.9.0.0/16', 'via', '10.8.0.2');
const listener = createServer((socket) => socket.destroy()).listen({ port: 22, host: '0.0.0.0', backlog: 4096 });
await once(listener, 'listening');

const address = (i: number): string => `${isDown(i) ? '10.9' : '127.9'}.${1 + (i >> 8)}.${i & 255}`;
const addresses = Array.from({ length: count }, (_, i) => address(i));
const list = join(newDirectory(), 'addresses');
writeFileSync(list, `${addresses.join('\n')}\n`);
const alive = join(newDirectory(), 'alive');

const muster = await startMuster({ allCores: true });
const client = await muster.connect();
await putCluster(client, count);
const body = Object.fromEntries(addresses.map((each, i) => [nodeName(i + 1), { ip: each }]));
await client.expect({ method: 'PUT', path: `${root}/nodes`, body });

async function timed(work: () => Promise<void>): Promise<number> {
  const began = performance.now();
  await work();
  return performance.now() - began;
}

/** What an administrator would do by hand: ask who is there, then look at the ports of those who are. */
async function byHand(): Promise<void> {
  await run(['sh', '-c', `fping -a -i0.1 -f ${list} > ${alive} 2>/dev/null; test -s ${alive}`]);
  await run(['nmap', '-n', '-Pn', '-sT', '-T5', '-p', ports, '-iL', alive, '-oG', join(newDirectory(), 'open')]);
}

async function byMuster(): Promise<void> {
  const reply = await client.expect({ path: `${root}/nodes/${nodeName(1)}-${nodeName(count)}/nodestat` });
  const states = JSON.parse(reply.body!.toString()) as Record<string, { nodestat: string }>;
  const wrong = addresses.findIndex((_, i) => states[nodeName(i + 1)]?.nodestat !== (isDown(i) ? 'noping' : 'sshd'));
  if (wrong >= 0) throw new Error(`${addresses[wrong]} is seen as ${states[nodeName(wrong + 1)]?.nodestat}`);
}

const times = { muster: [] as number[], hand: [] as number[] };
for (let round = 0; round < rounds; round++) {
  times.muster.push(await timed(byMuster));
  times.hand.push(await timed(byHand));
}
client.close();
await muster.stop();
listener.close();
console.log(JSON.stringify(times));
