import { isAbsolute, resolve } from 'node:path';
import { path } from '../client.ts';
import type { Call, Invocation } from '../command.ts';
import { Refused, UsageError } from '../errors.ts';
import { flag, type OptionTable } from '../options.ts';
import { NoSuchSource, ownFiles } from '../own-files.ts';
import type { NodeRequest } from './work.ts';

export const serverFiles: OptionTable = {
  'server-files': flag('the files are those of the management node, which reads them itself'),
};

interface Copy {
  readonly range: string;
  readonly sources: readonly string[];
  readonly target: string;
}

/**
 * The request that copies files to nodes. The caller's files go with it. Root of the management node names them instead: the server
 * reads the same files, and need not keep a copy.
 */
export function copyRequest(invocation: Invocation, call: Call, { range, sources, target }: Copy): NodeRequest {
  // It would mean the whole working directory.
  if (sources.includes('')) throw new UsageError('An empty word ("") names no file: give the file that is meant.');
  if (call.flag('server-files') || sharesFiles(invocation)) {
    const src = sources.map((source) => serverPath(invocation, source));
    return { method: 'POST', at: path('nodes', range, 'nodecopy'), body: { src, target } };
  }
  return { method: 'PUT', at: path('nodes', range, 'files'), query: { target }, files: ownFiles(sources) };
}

/** Who is root on the management node and asks the server there. */
export const sharesFiles = ({ client }: Invocation): boolean => client.isLocal && process.geteuid?.() === 0;

/** A path of the management node, where relative ones mean the working directory only if that is there. */
export function serverPath({ client }: Invocation, file: string): string {
  if (isAbsolute(file)) return file;
  if (client.isLocal) return resolve(file);
  throw new UsageError(`${file} is a file of the management node; give its whole path.`);
}

/** A source that is not there, here or on the management node. */
export function missingSource(error: unknown): NoSuchSource | undefined {
  if (error instanceof NoSuchSource) return error;
  const [, file] =
    (error instanceof Refused && /^There is no file (.*) on the management node\.$/.exec(error.sentences[0]!)) || [];
  return file === undefined ? undefined : new NoSuchSource(file, 'No such file or directory');
}
