import { isUtf8 } from 'node:buffer';
import { Type } from 'typebox';
import { cachedBy } from '../core/cache.ts';
import { Fault, type FaultData } from '../core/errors.ts';
import { type NodeOutput, nodeFailure, type NodeResult } from '../core/results.ts';
import type { Snapshot } from '../database/snapshot.ts';
import { managementNode } from '../objects/networks.ts';
import { CollectedOutput } from '../protocols/ssh/collected.ts';
import { PassedOutput } from '../protocols/ssh/passed-output.ts';
import { type Exit, unknownSignal } from '../protocols/ssh/target.ts';
import {
  actingUser,
  instructionFor,
  isAllowedByParameters,
  lineAs,
  type RemoteNode,
  type RemoteTarget,
  type ShellRequest,
  shellSchema,
  withPath,
} from '../nodes/index.ts';
import { nodeArguments, selectNodes } from './command.ts';
import { nodeAddress, perNode, type Plan, sshOnWorkers, type Task } from './per-node.ts';

const args = Type.Object({
  ...nodeArguments,
  shell: shellSchema,
  failsOnErrorOutput: Type.Boolean({ description: 'output on standard error is a failure' }),
});

/** What every node gets. */
interface Shell extends Pick<ShellRequest, 'seconds' | 'password' | 'silent' | 'tellsExit'> {
  readonly command: string;
  /** What the command reads, in base64. */
  readonly stdin: string | undefined;
  /** Bytes of output to keep. */
  readonly limit: number;
  readonly failsOnErrorOutput: boolean;
}

/** A path that no rule means. */
const elsewhere = '/nowhere/at/all';

export const xdsh = perNode({
  name: 'xdsh',
  args,
  uses: ['remote'],
  line: ({ shell }) => [lineAs(shell, shell.user)],
  isNotedFirst: true,
  select: selectNodes,
  prepare(
    snapshot,
    { shell, failsOnErrorOutput },
    { remote, caller, selection },
  ): Plan<Shell, RemoteTarget | FaultData> {
    const nodes = selection.nodes ?? [];
    if (shell.password !== undefined) refuseOwnNode(snapshot, nodes);
    const asking = { ...caller, command: 'xdsh', nodes };
    const user = actingUser(snapshot, asking, shell.user, (as) => lineAs(shell, as));
    const lineWith = (path: string, other: string): string => lineAs(withPath(shell, path, other), shell.user);
    const readable = (): typeof remote.sources => (caller.hasFullRights() ? remote.sources.everywhere : remote.sources);
    const admit = (path: string): string =>
      readable().admit(path, (real) =>
        isAllowedByParameters(snapshot, asking, lineWith(path, real), [lineWith(path, elsewhere)]),
      );
    const { command, stdin } = instructionFor(shell, admit, remote.publicKey);
    const { seconds, password, silent, tellsExit } = shell;
    return {
      shared: {
        command,
        stdin: stdin && Buffer.from(stdin).toString('base64'),
        seconds,
        password,
        silent,
        tellsExit,
        limit: remote.outputLimit(nodes.length),
        failsOnErrorOutput,
      },
      target: remote.targets(snapshot, user),
      width: shell.fanOut ?? remote.fanOut,
    };
  },
  sentTo: nodeAddress,
  onWorkers: { ...sshOnWorkers(), ownTimeout: ({ seconds = 0 }: Shell) => seconds * 1_000 },
  work: (shell: Shell, target: RemoteTarget | FaultData, task) =>
    task.remote.use(target, task, (node) => runOn(node, shell, task)),
});

function refuseOwnNode(snapshot: Snapshot, nodes: readonly string[]): void {
  const here = managementNode(snapshot);
  const own = nodes.find((node) => here.hasName(node));
  if (own !== undefined)
    throw new Fault('invalid', `-K hands the key to other nodes, and ${own} is the management node; leave it out.`);
}

/** What the command reads is the same for all nodes. */
const inputOf = cachedBy(({ stdin = '' }: Shell) => Buffer.from(stdin, 'base64'));

async function runOn(remote: RemoteNode, shell: Shell, { node, room, passOn }: Task): Promise<NodeResult> {
  const collected = new CollectedOutput(shell.limit, room?.());
  const taker = shell.silent ? undefined : passOn?.();
  const passed = taker && new PassedOutput(collected, (stream, piece) => taker(node, stream, piece));
  try {
    const exit = await remote.exec(shell.command, passed ?? collected, {
      stdin: shell.stdin === undefined ? undefined : inputOf(shell),
      commandTimeout: shell.seconds === undefined ? undefined : shell.seconds * 1_000,
      password: shell.password,
    });
    const complains = shell.failsOnErrorOutput && !shell.silent && collected.hasText('stderr');
    return resultOf(node, outputOf(shell, collected, exit), exit, complains);
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    return { ...nodeFailure(node, error), output: outputOf(shell, collected) };
  } finally {
    await passed?.end();
  }
}

function outputOf({ silent, tellsExit }: Shell, collected: CollectedOutput, exit?: Exit): NodeOutput {
  const { note, lost } = collected;
  const code = exit?.code;
  const notes = [
    ...(note === undefined || silent ? [] : [note]),
    ...(tellsExit && code !== undefined ? [`Remote_command_rc = ${code}`] : []),
  ];
  return {
    stdout: silent ? '' : collected.text('stdout'),
    stderr: silent ? '' : collected.text('stderr'),
    ...(silent ? {} : otherBytes(collected)),
    code,
    signal: exit?.signal,
    ...(lost > 0 && !silent ? { cut: lost } : {}),
    ...(notes.length > 0 ? { notes } : {}),
  };
}

/** What is not UTF-8 would be lost in a text. */
function otherBytes(collected: CollectedOutput): Pick<NodeOutput, 'base64'> {
  const base64: { stdout?: string; stderr?: string } = {};
  for (const stream of ['stdout', 'stderr'] as const) {
    const bytes = collected.bytes(stream);
    if (!isUtf8(bytes)) base64[stream] = bytes.toString('base64');
  }
  // Of output that was cut the last character may be half of one.
  return collected.lost > 0 || Object.keys(base64).length === 0 ? {} : { base64 };
}

function resultOf(node: string, output: NodeOutput, { code, signal }: Exit, complains: boolean): NodeResult {
  const error =
    signal !== undefined
      ? `the command was ended by ${signal === unknownSignal ? 'a signal' : `signal ${signal}`}.`
      : code !== 0
        ? `the command ended with exit code ${code}.`
        : complains
          ? 'the command wrote to standard error.'
          : undefined;
  return error === undefined ? { node, output } : { node, error, output };
}
