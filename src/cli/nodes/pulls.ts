import { basename, dirname } from 'node:path';
import { quoteWord } from '../../core/shell-words.ts';
import { path } from '../client.ts';
import type { StreamLine } from '../replies.ts';
import type { Invocation } from '../command.ts';
import type { CommonOptions } from '../common-options.ts';
import { UsageError } from '../errors.ts';
import { type CheckedName, nodeFromServer, type ServerFiles, writeServerFile } from '../from-server.ts';
import { PulledTree } from './pulled-tree.ts';
import { outputOf, textLines, unreached } from './remote-lines.ts';
import type { Said } from './results.ts';
import { workOnNodes } from './work.ts';

/** What is brought from nodes, and where to. */
export interface Pull {
  readonly range: string;
  /** Paths on the nodes. */
  readonly wanted: readonly string[];
  readonly target: Pick<ServerFiles, 'directory' | 'replace'>;
  /** They are directories. */
  readonly recursive: boolean;
}

/** Takes what a node sends of one file or directory. */
interface Taker {
  add(text: string): void;
  /** Puts it in its place; what there is to say of it comes back. */
  finish(): readonly string[];
  /** Says what could not be removed. */
  drop(): readonly string[];
}

const nothing: Said = { stdout: [], stderr: [] };

/** Brings files or directories of every node here, each as NAME._NODE. They travel as text, so that any content arrives as it is. */
export async function pull(
  invocation: Invocation,
  { range, wanted, target, recursive }: Pull,
  common: CommonOptions,
): Promise<number> {
  let code = 0;
  for (const file of wanted) {
    const name = basename(file);
    if (name === '' || name === '.' || name === '..')
      throw new UsageError(`${file} has no name of its own; give the name of the directory.`);
    const files = { ...target, before: `${name}._`, mode: 0o666 };
    const takerOf = (node: CheckedName): Taker => (recursive ? treeTaker(files, node, name) : fileTaker(files, node));
    const takers = new Map<string, Taker>();
    const failures = new Map<string, string>();
    const dropped = (node: string): readonly string[] => takers.get(node)?.drop() ?? [];
    /** A node that sends what cannot be taken fails; the others go on. */
    const attempt = (node: CheckedName, work: (taker: Taker) => readonly string[] | void): readonly string[] => {
      if (failures.has(node)) return [];
      try {
        let taker = takers.get(node);
        if (!taker) takers.set(node, (taker = takerOf(node)));
        return work(taker) ?? [];
      } catch (error) {
        failures.set(node, [(error as Error).message, ...dropped(node)].join(' '));
        return [];
      }
    };
    const result = (line: StreamLine): Said => {
      const node = nodeFromServer(line.node!);
      const isWhole = !takers.has(node);
      if (line.error !== undefined) {
        const why = unreached(line) ?? textLines(outputOf(line).stderr).join(' ');
        return { stdout: [[`${node}: ${why || line.error}`, ...dropped(node)].join(' '), ''], stderr: [] };
      }
      const said = attempt(node, (taker) => {
        if (isWhole) taker.add(outputOf(line).stdout);
        return taker.finish();
      });
      const failure = failures.get(node);
      if (failure === undefined) return { stdout: [], stderr: said.map((text) => `${node}: ${text}`) };
      code = 1;
      return { stdout: [`${node}: ${failure}`, ''], stderr: [] };
    };
    const piece = (node: string, stream: 'stdout' | 'stderr', text: string): Said => {
      if (stream === 'stdout') attempt(nodeFromServer(node), (taker) => taker.add(text));
      return nothing;
    };
    const request = {
      method: 'POST',
      at: path('nodes', range, 'nodeshell'),
      body: { command: recursive ? treeCommand(file, name) : `base64 -- ${quoteWord(file)}` },
    } as const;
    try {
      const { failed } = await workOnNodes(invocation, request, { lines: () => [], result, piece }, common);
      if (failed > 0) code = 1;
    } catch (error) {
      for (const node of takers.keys()) for (const text of dropped(node)) invocation.stderr.line(`${node}: ${text}`);
      throw error;
    }
  }
  return code;
}

/** The exit code is that of tar, not of base64. */
const treeCommand = (file: string, name: string): string =>
  `exec 3>&1; code=$( { { tar -c -f - -C ${quoteWord(dirname(file))} -- ${quoteWord(name)} 4>&-; echo $? >&4; } | base64 >&3 4>&-; } 4>&1 ); exit "$code"`;

function fileTaker(files: ServerFiles, node: CheckedName): Taker {
  const parts: string[] = [];
  return {
    add: (text) => void parts.push(text),
    finish() {
      writeServerFile(files, node, Buffer.from(parts.join(''), 'base64'));
      return [];
    },
    drop: () => [],
  };
}

function treeTaker(files: ServerFiles, node: CheckedName, top: string): Taker {
  const tree = new PulledTree(files, node, top);
  return {
    add: (text) => tree.add(text),
    finish() {
      tree.finish();
      return tree.left;
    },
    drop: () => tree.drop(),
  };
}
