import { asTheyCome } from '../core/as-they-come.ts';
import { Fault } from '../core/errors.ts';
import type { Snapshot } from '../database/snapshot.ts';
import { managementNode } from '../objects/management-node.ts';
import { CollectedOutput, type Room } from '../protocols/ssh/collected.ts';
import { type Exit, unknownSignal } from '../protocols/ssh/transport.ts';
import { actingUser, isAllowedByParameters } from '../services/remote/acting-user.ts';
import { failed, nodeFailure } from '../services/remote/node-failure.ts';
import { NodeOutput } from '../services/remote/node-output.ts';
import type { RemoteNodes } from '../services/remote/remote-nodes.ts';
import { type Instruction, instructionFor } from '../services/remote/shell-command.ts';
import { lineAs, type ShellRequest, withPath } from '../services/remote/shell-request.ts';
import { type NodeResult, perNode, selectNodes } from './command.ts';

export interface XdshArgs {
  readonly range: string;
  readonly refuseEmpty?: boolean;
  readonly shell: ShellRequest;
  /** Output on standard error is a failure. */
  readonly failsOnErrorOutput: boolean;
}

/** A path that no rule means. */
const elsewhere = '/nowhere/at/all';

export const xdsh = perNode<XdshArgs>({
  name: 'xdsh',
  isNotedFirst: true,
  select: selectNodes,
  // What is refused is refused here, before the first result.
  run(
    snapshot,
    { shell, failsOnErrorOutput },
    { remote, caller, selection, signal: left },
    signal,
  ): AsyncIterable<NodeResult> {
    const nodes = selection.nodes ?? [];
    if (shell.password !== undefined) refuseOwnNode(snapshot, nodes);
    const asking = { ...caller, command: 'xdsh', nodes };
    const user = actingUser(snapshot, asking, shell.user, (as) => lineAs(shell, as));
    const lineWith = (path: string, other: string): string => lineAs(withPath(shell, path, other), shell.user);
    const admit = (path: string): string =>
      remote.sources.admit(path, (real) =>
        isAllowedByParameters(snapshot, asking, lineWith(path, real), [lineWith(path, elsewhere)]),
      );
    const job: Job = {
      shell,
      instruction: instructionFor(shell, admit, remote.publicKey),
      targets: remote.as(snapshot, user),
      limit: remote.outputLimit(nodes.length),
      room: remote.keptOutput.until(left(), caller.user),
      failsOnErrorOutput,
      signal,
    };
    const takeTurn = (node: string) => remote.places.take(caller.user, signal, () => runOn(node, job));
    return asTheyCome(nodes, shell.fanOut ?? remote.fanOut, (node) => takeTurn(node).catch(failed(node)));
  },
});

function refuseOwnNode(snapshot: Snapshot, nodes: readonly string[]): void {
  const here = managementNode(snapshot);
  const own = nodes.find((node) => here.hasName(node));
  if (own !== undefined)
    throw new Fault('invalid', `-K hands the key to other nodes, and ${own} is the management node; leave it out.`);
}

interface Job {
  readonly shell: ShellRequest;
  readonly instruction: Instruction;
  readonly targets: RemoteNodes;
  /** Bytes of output to keep. */
  readonly limit: number;
  readonly room: Room;
  readonly failsOnErrorOutput: boolean;
  readonly signal: AbortSignal;
}

async function runOn(node: string, job: Job): Promise<NodeResult> {
  const { shell, instruction, targets, limit, room, signal } = job;
  const collected = new CollectedOutput(limit, room);
  const options = {
    signal,
    stdin: instruction.stdin,
    commandDeadline: shell.seconds === undefined ? undefined : shell.seconds * 1_000,
    password: shell.password,
  };
  try {
    const exit = await targets.exec(node, instruction.command, collected, options);
    return resultOf(node, job, outputOf(shell, collected, exit), exit);
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    return { ...nodeFailure(node, error), output: outputOf(shell, collected) };
  }
}

function outputOf({ silent, tellsExit }: ShellRequest, collected: CollectedOutput, exit?: Exit): NodeOutput {
  const { note } = collected;
  const code = exit?.code;
  return new NodeOutput({
    stdout: silent ? '' : collected.text('stdout'),
    stderr: silent ? '' : collected.text('stderr'),
    code,
    signal: exit?.signal,
    notes: [
      ...(note === undefined || silent ? [] : [note]),
      ...(tellsExit && code !== undefined ? [`Remote_command_rc = ${code}`] : []),
    ],
  });
}

function resultOf(node: string, { failsOnErrorOutput }: Job, output: NodeOutput, { code, signal }: Exit): NodeResult {
  const error =
    signal !== undefined
      ? `the command was ended by ${signal === unknownSignal ? 'a signal' : `signal ${signal}`}.`
      : code !== 0
        ? `the command ended with exit code ${code}.`
        : failsOnErrorOutput && output.stderr.trim() !== ''
          ? 'the command wrote to standard error.'
          : undefined;
  return error === undefined ? { node, value: output } : { node, error, output };
}
