import { basename } from 'node:path';
import { path, type StreamLine } from '../client.ts';
import type { Invocation } from '../invocation.ts';
import { nodeFromServer } from '../names-from-server.ts';
import { type ServerFiles, writeServerFile } from '../server-files.ts';
import { quoteWord } from '../../core/shell-words.ts';
import { workOnNodes } from './node-work.ts';
import type { OwnOptions } from './own-options.ts';
import { outputOf, textLines, unreached } from './remote-lines.ts';
import type { Said } from './result-writer.ts';

/** Brings a file of every node here. It travels as text, so that any content arrives as it is. */
export async function pull(
  invocation: Invocation,
  range: string,
  wanted: readonly string[],
  target: Pick<ServerFiles, 'directory' | 'replace'>,
  own: OwnOptions,
): Promise<number> {
  let code = 0;
  const nothing: Said = { stdout: [], stderr: [] };
  for (const file of wanted) {
    const files = { ...target, before: `${basename(file)}._`, mode: 0o666 };
    const parts = new Map<string, string[]>();
    const request = {
      method: 'POST',
      at: path('nodes', range, 'nodeshell'),
      body: { command: `base64 -- ${quoteWord(file)}` },
    } as const;
    const result = (line: StreamLine): Said => {
      const node = nodeFromServer(line.node!);
      if (line.error !== undefined) {
        const why = unreached(line) ?? textLines(outputOf(line).stderr).join(' ');
        return { stdout: [`${node}: ${why || line.error}`, ''], stderr: [] };
      }
      const text = parts.get(node)?.join('') ?? outputOf(line).stdout;
      parts.delete(node);
      try {
        writeServerFile(files, node, Buffer.from(text, 'base64'));
      } catch (error) {
        code = 1;
        return { stdout: [`${node}: ${(error as Error).message}`, ''], stderr: [] };
      }
      return nothing;
    };
    const piece = (node: string, stream: 'stdout' | 'stderr', text: string): Said => {
      if (stream !== 'stdout') return nothing;
      const kept = parts.get(node);
      if (kept) kept.push(text);
      else parts.set(node, [text]);
      return nothing;
    };
    const { failed } = await workOnNodes(invocation, request, { lines: () => [], result, piece }, own);
    if (failed > 0) code = 1;
  }
  return code;
}
