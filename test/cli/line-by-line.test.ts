import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { TLSSocket } from 'node:tls';
import { expect, it } from 'vitest';
import { muster } from '../harness/muster-command.ts';
import { hostileServer, Victim } from './hostile-server.ts';

/** A server that has the result of one node at once, and that of the other when it is told so. */
it('the result of a node leaves a pipe before others have theirs', { timeout: 60_000 }, async () => {
  const [first, last] = [
    { node: 'n1', value: { power: 'on' } },
    { node: 'n2', value: { power: 'off' } },
  ].map((line) => `${JSON.stringify(line)}\n`) as [string, string];
  const end = `${JSON.stringify({ summary: { nodes: 2, ok: 2, failed: 0 } })}\n`;
  let socket: TLSSocket | undefined;
  const lab = await hostileServer((opened) => {
    socket = opened;
    const length = first.length + last.length + end.length;
    opened.write(`HTTP/1.1 200 OK\r\ncontent-type: application/x-ndjson\r\ncontent-length: ${length}\r\n\r\n${first}`);
  });
  const { env } = new Victim(lab);
  const child = spawn(muster, ['rpower', 'n1-n2', 'stat'], {
    env: { PATH: process.env['PATH']!, ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const closed = once(child, 'close');
  const [begun] = (await once(child.stdout, 'data')) as [Buffer];
  expect(begun.toString()).toBe('n1: on\n');
  const rest = once(child.stdout, 'data') as Promise<[Buffer]>;
  socket!.write(last + end);
  expect((await rest)[0].toString()).toBe('n2: off\n');
  expect(await closed).toEqual([0, null]);
  await lab.server.stop();
});
