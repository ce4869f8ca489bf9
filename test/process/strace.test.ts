import { readFileSync } from 'node:fs';
import type { Socket } from 'node:net';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  agentFor,
  call,
  callJson,
  login,
  removeDirectory,
  type Service,
  startService,
  stopService,
  temporaryDirectory,
} from './process.ts';

/** What strace saw: lines in the order of time. A call of one thread that another interrupts has two lines. */
interface Line {
  readonly thread: string;
  readonly time: number;
  readonly text: string;
}

const repeats = 10;
const directory = temporaryDirectory();
const trace = join(directory, 'trace');
let lines: Line[];
/** Where in the trace the replies on the connection began to be sent. */
let replies: number[];

/** One connection sends one request after the other, so that its socket writes are the replies in the same order. */
beforeAll(async () => {
  const calls = 'trace=fdatasync,fsync,pwrite64,write,writev,sendto,sendmsg';
  const data = join(directory, 'data');
  const service = await startService(data, {
    under: ['strace', '-f', '-ttt', '-yy', '-s', '4096', '-e', calls, '-o', trace],
  });
  const preparing = agentFor(service);
  const token = await login(service, preparing);
  expect((await callJson(service, preparing, token, 'POST', '/muster/nodes/n[1-10]', { groups: 'all' })).status).toBe(
    201,
  );
  preparing.destroy();
  const { port, lastReply } = await sendInTurn(service, token);
  await stopService(service);
  lines = readFileSync(trace, 'utf8')
    .split('\n')
    .flatMap((line) => {
      const [, thread, time, text] = /^(\d+)\s+([\d.]+) (.*)$/.exec(line) ?? [];
      return thread && text ? { thread, time: 1_000 * Number(time), text } : [];
    });
  const toClient = new RegExp(
    `^(write|writev|sendto|sendmsg)\\(\\d+<TCP:\\[127\\.0\\.0\\.1:\\d+->127\\.0\\.0\\.1:${port}\\]>`,
  );
  // What the handshake sends comes before the replies, what ends the connection after them.
  replies = lines
    .flatMap(({ text, time }, at) => (toClient.test(text) && time <= lastReply ? at : []))
    .slice(-3 * repeats);
});
afterAll(() => removeDirectory(directory));

async function sendInTurn(service: Service, token: string): Promise<{ port: number; lastReply: number }> {
  let port = 0;
  const agent = agentFor(service, { maxSockets: 1 });
  agent.on('free', (socket: Socket) => (port = socket.localPort ?? port));
  for (let i = 0; i < repeats; i++) {
    const change = await callJson(service, agent, token, 'PUT', `/muster/nodes/n${i + 1}`, { usercomment: `c${i}` });
    expect([change.status, change.body]).toEqual([200, '']);
  }
  // Runs are written while nobody waits for that.
  await setTimeout(2_000);
  for (let i = 0; i < repeats; i++) {
    expect((await call(service, agent, 'GET', '/muster/nodes', { headers: { 'X-Auth-Token': 'wrong' } })).status).toBe(
      401,
    );
  }
  for (let i = 0; i < repeats; i++) expect((await call(service, agent, 'GET', '/muster/health')).status).toBe(200);
  await setTimeout(20);
  const lastReply = Date.now();
  agent.destroy();
  return { port, lastReply };
}

const isWrite = ({ text }: Line): boolean => /^pwrite64\(\d+<[^>]*muster\.sqlite-wal>/.test(text);

/** Whether a sync of the log ended well between the two, after the last write to it that holds the text. */
function syncedBetween(after: number, before: number, holds: RegExp): boolean {
  const written = lines.slice(after, before).findLastIndex((line) => isWrite(line) && holds.test(line.text));
  if (written < 0) return false;
  const later = lines.slice(after + written + 1, before);
  const syncs = new Set<string>();
  for (const { thread, text } of later) {
    const begins = /^(fsync|fdatasync)\(\d+<[^>]*muster\.sqlite-wal>/.test(text);
    if (begins && text.endsWith(' = 0')) return true;
    if (begins) syncs.add(thread);
    else if (/^<\.\.\. (fsync|fdatasync) resumed>.* = 0$/.test(text) && syncs.has(thread)) return true;
  }
  return false;
}

const anything = /^/;

const synced = (from: number, holds = (_i: number): RegExp => anything): boolean[] =>
  replies.slice(from, from + repeats).map((at, i) => syncedBetween(replies[from + i - 1] ?? 0, at, holds(i)));

test('the reply to a change is sent only after the log that holds it was written and synced', () => {
  expect(replies).toHaveLength(3 * repeats);
  // Other writes may come in between.
  expect(synced(0, (i) => new RegExp(`usercomment.{1,10}c${i}\\b`))).toEqual(Array(repeats).fill(true));
});

test('the reply to a refused caller is sent only after its audit record was synced; others of the minute are counted later', () => {
  expect(synced(repeats)[0]).toBe(true);
});

test('a reply that tells of nothing written waits for no sync', () => {
  expect(synced(2 * repeats)).toEqual(Array(repeats).fill(false));
});
