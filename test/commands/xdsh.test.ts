import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { NodeResult, Scope } from '../../src/commands/command.ts';
import { xdsh } from '../../src/commands/xdsh.ts';
import { Fault } from '../../src/core/errors.ts';
import { NamedPlaces } from '../../src/core/places.ts';
import type { Output } from '../../src/protocols/ssh/transport.ts';
import { KeptOutput } from '../../src/services/remote/kept-output.ts';
import { readShellRequest } from '../../src/services/remote/shell-request.ts';
import { memoryStore, type TestStore } from '../harness/store.ts';

let cluster: TestStore;
beforeAll(async () => {
  cluster = await memoryStore({});
});
afterAll(() => cluster.close());

/** Nodes that print eight bytes each, a few milliseconds after they were asked. */
function fakeRemote(places: NamedPlaces, keptOutput: KeptOutput) {
  const seen = { now: 0, most: 0 };
  const exec = async (_node: string, _command: string, output: Output) => {
    seen.most = Math.max(seen.most, ++seen.now);
    await pause(5);
    void output.stdout(Buffer.from('12345678'));
    seen.now--;
    return { code: 0, signal: undefined };
  };
  return {
    seen,
    remote: { places, keptOutput, publicKey: '', fanOut: 256, outputLimit: () => 100, as: () => ({ exec }) },
  };
}

async function run(remote: object, left: AbortSignal, signal = new AbortController().signal): Promise<NodeResult[]> {
  const nodes = ['n1', 'n2', 'n3', 'n4'];
  const caller = {
    user: 'alice',
    client: '127.0.0.1',
    addresses: ['127.0.0.1'],
    token: undefined,
    hasFullRights: () => true,
  };
  const scope = { remote, caller, selection: { nodes }, signal: () => left } as unknown as Scope;
  const shell = readShellRequest({ command: 'date' });
  const args = { range: 'n1-n4', shell, failsOnErrorOutput: false };
  return Array.fromAsync(xdsh.run(cluster.store.current, args, scope, signal));
}

const kept = (results: readonly NodeResult[]): number =>
  results.reduce(
    (sum, result) => sum + ('value' in result ? (result.value as { stdout: string }).stdout.length : 0),
    0,
  );

describe('commands of one user on nodes', () => {
  it('take only so many places at once, over all requests', async () => {
    const { remote, seen } = fakeRemote(new NamedPlaces(3), new KeptOutput());
    const left = new AbortController().signal;
    const results = await Promise.all([run(remote, left), run(remote, left)]);
    expect([results.flat().length, seen.most]).toEqual([8, 3]);
  });

  it('keep only so much output until their replies are sent', async () => {
    const { remote } = fakeRemote(new NamedPlaces(8), new KeptOutput(40));
    const first = new AbortController();
    const second = new AbortController();
    expect(kept(await run(remote, first.signal))).toBe(32);
    expect(kept(await run(remote, second.signal))).toBe(8);
    first.abort();
    second.abort();
    expect(kept(await run(remote, new AbortController().signal))).toBe(32);
  });

  it('that are cancelled while they wait for a place are told so for each node', async () => {
    const { remote } = fakeRemote(new NamedPlaces(1), new KeptOutput());
    const cancelled = new AbortController();
    setTimeout(() => cancelled.abort(new Fault('invalid', 'The run was cancelled.')), 1);
    const results = await run(remote, new AbortController().signal, cancelled.signal);
    expect(results.filter((result) => 'error' in result && result.error === 'The run was cancelled.')).toHaveLength(3);
  });
});
