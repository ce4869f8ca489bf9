import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { xdsh } from '../../src/commands/xdsh.ts';
import { Fault } from '../../src/core/errors.ts';
import type { NodeResult } from '../../src/core/results.ts';
import type { Transport } from '../../src/protocols/ssh/target.ts';
import { RemoteNodes } from '../../src/nodes/remote/remote-nodes.ts';
import { KeptOutput } from '../../src/nodes/remote/remote.ts';
import { readShellRequest } from '../../src/nodes/remote/shell-request.ts';
import { memoryStore, nodeResultsOf, type TestStore } from '../harness/store.ts';

let cluster: TestStore;
beforeAll(async () => {
  cluster = await memoryStore({});
  await cluster.put(...['n1', 'n2', 'n3', 'n4'].map((node) => ['nodelist', { node, groups: 'all' }] as const));
});
afterAll(() => cluster.close());

/** Nodes that print eight bytes each, a few milliseconds after they were asked. */
function fakeNodes(slots: number, keptOutput: KeptOutput) {
  const seen = { now: 0, most: 0 };
  const exec: Transport['exec'] = async (_target, _command, output) => {
    seen.most = Math.max(seen.most, ++seen.now);
    await pause(5);
    void output.stdout(Buffer.from('12345678'));
    seen.now--;
    return { code: 0, signal: undefined };
  };
  const transport = { exec } as Transport;
  const targets = () => async (node: string) => ({ name: node, address: '127.0.0.1', user: 'alice' });
  Object.assign(cluster.services, {
    remote: { keptOutput, publicKey: '', fanOut: 256, outputLimit: () => 100, targets },
    workerServices: { remote: new RemoteNodes({ transport, connectTimeout: 0, commandTimeout: 0 }, slots) },
  });
  return seen;
}

async function run(left: AbortSignal): Promise<NodeResult[]> {
  const shell = readShellRequest({ command: 'date' });
  const args = { range: 'n1-n4', shell, failsOnErrorOutput: false };
  return nodeResultsOf(await cluster.run(xdsh, args, { signal: () => left }));
}

const kept = (results: readonly NodeResult[]): number =>
  results.reduce((sum, result) => sum + ('output' in result ? result.output!.stdout.length : 0), 0);

describe('commands of one user on nodes', () => {
  it('take only so many slots at once, over all requests', async () => {
    const seen = fakeNodes(3, new KeptOutput());
    const left = new AbortController().signal;
    const results = await Promise.all([run(left), run(left)]);
    expect([results.flat().length, seen.most]).toEqual([8, 3]);
  });

  it('keep only so much output until their replies are sent', async () => {
    fakeNodes(8, new KeptOutput(40));
    const first = new AbortController();
    const second = new AbortController();
    expect(kept(await run(first.signal))).toBe(32);
    expect(kept(await run(second.signal))).toBe(8);
    first.abort();
    second.abort();
    expect(kept(await run(new AbortController().signal))).toBe(32);
  });

  it('that are cancelled while they wait for a slot are told so for each node', async () => {
    fakeNodes(1, new KeptOutput());
    const cancelled = new AbortController();
    setTimeout(() => cancelled.abort(new Fault('invalid', 'The run was cancelled.')), 1);
    const results = await run(cancelled.signal);
    expect(results.filter((result) => 'error' in result && result.error === 'The run was cancelled.')).toHaveLength(3);
  });
});
