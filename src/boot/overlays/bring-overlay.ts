import { Fault } from '../../core/errors.ts';
import { CollectedOutput } from '../../protocols/ssh/collected.ts';
import type { RemoteNode } from '../../nodes/index.ts';

/** Milliseconds beyond what a command may take: all of it comes through the connection. */
const timeout = 600_000;
/** Bytes of the lines that are kept. */
const longest = 256 * 1024;

/** Nodes that get theirs at the same time: until a node has it, its archive is in memory. */
export const overlaysAtOnce = 16;

/** Only root may read what comes, and nothing of it stays, also if the connection ends. */
const unpacking = (action: 'send' | 'diff'): string =>
  `umask 077 && work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT && trap 'exit 1' HUP INT PIPE TERM && tar -xf - -C "$work" && sh "$work/place" "$work" ${action}`;

/** Places the files of an archive on a running node, or compares them. The lines name each path that differs there. */
export async function bringOverlay(node: RemoteNode, archive: Buffer, action: 'send' | 'diff'): Promise<string[]> {
  const output = new CollectedOutput(longest);
  const command = unpacking(action);
  const { code, signal } = await node.exec(`{ ${command}\n} 2>&1`, output, { stdin: archive, commandTimeout: timeout });
  const lines = output
    .text('stdout')
    .split('\n')
    .filter((line) => line !== '');
  if (output.note !== undefined) lines.push(output.note);
  if (code === 0) return lines;
  const end = code === undefined ? `it was ended by ${signal ?? 'a signal'}` : `it ended with code ${code}`;
  const why = lines.length === 0 ? end : lines.slice(-3).join(' / ').slice(-500);
  throw new Fault('invalid', `The overlay could not be ${action === 'diff' ? 'compared' : 'placed'}: ${why}.`);
}
