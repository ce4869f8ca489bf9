import { Fault } from '../core/errors.ts';
import { nodeFailure, type NodeOutput, type NodeResult } from '../core/results.ts';
import type { Room } from '../protocols/ssh/collected.ts';

/** Bytes that the result of a node may take besides its output without asking for room: more than most logs of a BMC. */
const freely = 256 * 1024;
/** Bytes of memory for each text and each member, besides its characters. */
const ofEach = 48;

/**
 * What a worker sends of a node, as far as the user has room for it. Output has the same bound as output that is collected here. Any
 * other result is refused if it is large and there is no room: a worker may send more than a BMC has to say.
 */
export function withinRoom(result: NodeResult<unknown>, room: (() => Room) | undefined): NodeResult<unknown> {
  if (!room) return result;
  const { output } = result as { readonly output?: NodeOutput };
  const rest = weightOf('value' in result ? result.value : output?.notes);
  if (rest > freely && room().take(rest) < rest)
    return nodeFailure(
      result.node,
      new Fault('invalid', 'its worker sent a result that is too large to be kept. Ask for fewer nodes at a time.'),
    );
  return output ? withOutputInRoom(result, output, room) : result;
}

function withOutputInRoom(result: NodeResult<unknown>, output: NodeOutput, room: () => Room): NodeResult<unknown> {
  const size = Buffer.byteLength(output.stdout) + Buffer.byteLength(output.stderr) + sizeOfBytes(output);
  if (size === 0 || room().take(size) === size) return result;
  const { code, signal, cut = 0, notes = [] } = output;
  const left: NodeOutput = {
    stdout: '',
    stderr: '',
    code,
    signal,
    cut: cut + size,
    notes: [...notes, `The output was cut after 0 bytes; ${size} more are not shown.`],
  };
  return { ...result, output: left };
}

const sizeOfBytes = ({ base64 = {} }: NodeOutput): number =>
  (base64.stdout?.length ?? 0) + (base64.stderr?.length ?? 0);

/** About the memory that a value takes. */
function weightOf(value: unknown): number {
  if (typeof value === 'string') return ofEach + value.length;
  if (typeof value !== 'object' || value === null) return 0;
  let weight = ofEach;
  if (Array.isArray(value)) for (const item of value) weight += weightOf(item);
  else for (const [name, member] of Object.entries(value)) weight += name.length + weightOf(member);
  return weight;
}
