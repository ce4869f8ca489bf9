// Makes the stack traces of a build name sources and lines. Imported first by every module that a process or thread starts with.
// Node's own --enable-source-maps reads all maps at every start, which costs a third of it; here a map is read when a trace needs it.
import { readFileSync } from 'node:fs';
import { SourceMap } from 'node:module';
import { fileURLToPath } from 'node:url';

const maps = new Map<string, SourceMap | undefined>();

function mapOf(file: string): SourceMap | undefined {
  if (!maps.has(file)) maps.set(file, readMap(`${file}.map`));
  return maps.get(file);
}

function readMap(file: string): SourceMap | undefined {
  try {
    return new SourceMap(JSON.parse(readFileSync(file, 'utf8')));
  } catch {
    // Without its map the place in the build is all there is to say.
    return undefined;
  }
}

// oxlint-disable-next-line no-base-to-string -- frames of V8 describe themselves
const inBuild = (frame: NodeJS.CallSite): string => frame.toString();

function inSources(frame: NodeJS.CallSite): string {
  const text = inBuild(frame);
  const url = frame.getFileName();
  const line = frame.getLineNumber();
  const column = frame.getColumnNumber();
  if (!url?.startsWith('file:') || line === null || column === null) return text;
  const file = fileURLToPath(url);
  const entry = mapOf(file)?.findEntry(line - 1, column - 1);
  if (!entry || !('originalSource' in entry)) return text;
  return text.replace(
    `${url}:${line}:${column}`,
    `${entry.originalSource}:${entry.originalLine + 1}:${entry.originalColumn + 1}`,
  );
}

/** A report of the process has a trace too. better-sqlite3 has one made at every start to know the C library, and nobody reads the trace. */
const isReport = ([frame]: NodeJS.CallSite[]): boolean => frame?.getFileName() === 'node:internal/process/report';

if (import.meta.filename.endsWith('.js'))
  Error.prepareStackTrace = (error, frames) =>
    [String(error), ...frames.map(isReport(frames) ? inBuild : inSources)].join('\n    at ');
