/**
 * Runs in a network of its own. Behind a cable (veth), in another network, is a machine that has the addresses of all nodes but one in
 * twenty, which nobody answers for. Prints the times.
 */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { nodeName, putCluster } from './cluster.ts';
import { run } from './process.ts';
import { newDirectory, root, startMuster } from './server.ts';

const count = 10_000;
const isDown = (i: number): boolean => i % 20 === 0;
const ports = '22,135,443,3389,8002,15002';
const rounds = 5;

const far = spawn('unshare', ['--net', 'sh', '-c', 'echo; exec cat'], { stdio: ['pipe', 'pipe', 'inherit'] });
await once(far.stdout, 'data');
const ip = (...args: string[]): void => void execFileSync('ip', args);
const inside = ['--net', '-t', String(far.pid)];
const there = (...args: string[]): void => void execFileSync('nsenter', [...inside, 'ip', ...args]);

ip('link', 'set', 'lo', 'up');
ip('link', 'add', 'cable', 'type', 'veth', 'peer', 'name', 'far', 'netns', String(far.pid));
ip('address', 'add', '10.8.0.1/24', 'dev', 'cable');
ip('link', 'set', 'cable', 'up');
there('link', 'set', 'lo', 'up');
there('address', 'add', '10.8.0.2/24', 'dev', 'far');
there('link', 'set', 'far', 'up');
for (const network of ['10.9.0.0/16', '10.10.0.0/16']) ip('route', 'add', network, 'via', '10.8.0.2');
there('route', 'add', 'local', '10.9.0.0/16', 'dev', 'lo');
there('route', 'add', 'blackhole', '10.10.0.0/16');
const listens =
  "require('node:net').createServer((socket) => socket.destroy())" +
  ".listen({ port: 22, host: '0.0.0.0', backlog: 4096 }, () => console.log('listens'))";
const listener = spawn('nsenter', [...inside, process.execPath, '-e', listens], {
  stdio: ['ignore', 'pipe', 'inherit'],
});
await once(listener.stdout, 'data');

const addresses = Array.from({ length: count }, (_, i) => `10.${isDown(i) ? 10 : 9}.${1 + (i >> 8)}.${i & 255}`);
const list = join(newDirectory(), 'addresses');
writeFileSync(list, `${addresses.join('\n')}\n`);
const alive = join(newDirectory(), 'alive');

const muster = await startMuster({ allCores: true });
const client = await muster.connect();
await putCluster(client, count);
const body = Object.fromEntries(addresses.map((each, i) => [nodeName(i + 1), { ip: each }]));
await client.expect({ method: 'PUT', path: `${root}/nodes`, body });

/** What an administrator would do by hand: ask who is there, then look at the ports of those who are. */
const byHand = (haste: string) => async (): Promise<void> => {
  await run(['sh', '-c', `fping -a -i0.1 -f ${list} > ${alive} 2>/dev/null; test -s ${alive}`]);
  await run(['nmap', '-n', '-Pn', '-sT', haste, '-p', ports, '-iL', alive, '-oG', join(newDirectory(), 'open')]);
};

async function byMuster(): Promise<void> {
  const reply = await client.expect({ path: `${root}/nodes/${nodeName(1)}-${nodeName(count)}/nodestat` });
  const states = JSON.parse(reply.body!.toString()) as Record<string, { nodestat: string }>;
  const wrong = addresses.findIndex((_, i) => states[nodeName(i + 1)]?.nodestat !== (isDown(i) ? 'noping' : 'sshd'));
  if (wrong >= 0) throw new Error(`${addresses[wrong]} is seen as ${states[nodeName(wrong + 1)]?.nodestat}`);
}

const ways = { muster: byMuster, T5: byHand('-T5'), T4: byHand('-T4') };
const times = { muster: [] as number[], T5: [] as number[], T4: [] as number[] };
for (let round = 0; round < rounds; round++) {
  for (const way of ['muster', 'T5', 'T4'] as const) {
    const began = performance.now();
    await ways[way]();
    times[way].push(performance.now() - began);
  }
}
client.close();
await muster.stop();
listener.kill();
far.stdin.end();
console.log(JSON.stringify(times));
