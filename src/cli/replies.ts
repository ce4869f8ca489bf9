import { Garbled, NotReached, Refused } from './errors.ts';
import { brokenOff } from './not-reached.ts';
import { inCommands } from './remedies.ts';
import type { WireReply } from './wire.ts';

/** A line of a stream of results. */
export interface StreamLine {
  readonly node?: string;
  readonly value?: unknown;
  readonly error?: string;
  readonly progress?: { readonly done: number; readonly of: number; readonly line: string };
  readonly summary?: {
    readonly nodes: number;
    readonly ok: number;
    readonly failed: number;
    readonly errorcode?: number;
  };
  readonly [member: string]: unknown;
}

/** What is cancelled has not failed. */
const failureOf = (place: string, error: Error): Error =>
  error.name === 'AbortError' || error instanceof Garbled ? error : brokenOff(place, error);

export async function* bytesOf(reply: WireReply, place: string): AsyncGenerator<Buffer> {
  try {
    yield* reply.body;
  } catch (error) {
    throw failureOf(place, error as Error);
  }
}

/** No text can be much longer. */
const longestReply = 500_000_000;

export async function textOf(reply: WireReply, place: string): Promise<string> {
  const chunks: Buffer[] = [];
  let left = longestReply;
  try {
    for await (const chunk of reply.body) {
      left -= chunk.length;
      if (left < 0) throw new Garbled('The server sent a reply of more than 500 MB; ask for less at a time.');
      chunks.push(chunk);
    }
  } catch (error) {
    throw failureOf(place, error as Error);
  }
  return Buffer.concat(chunks).toString('utf8');
}

export function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new Garbled('The server sent a reply that is no JSON; is it muster?');
  }
}

export function refusedBy(reply: WireReply, text: string): Refused {
  const body = reply.headers['content-type']?.includes('json') ? parsed(text) : {};
  return new Refused(reply.status, body ?? {});
}

export async function* linesOf(reply: WireReply, place: string): AsyncGenerator<StreamLine> {
  let ended = false;
  try {
    for await (const pieces of lineBatches(reply.body)) {
      for (const piece of pieces) {
        // Empty ones only show that the server is still at it.
        if (piece === '') continue;
        const line = parsed(piece) as StreamLine;
        ended ||= line.summary !== undefined;
        yield typeof line.error === 'string' ? { ...line, error: inCommands(line.error) } : line;
      }
    }
  } catch (error) {
    throw failureOf(place, error as Error);
  }
  if (!ended) throw brokenOff(place, new Error('the connection broke off before everything had arrived'));
}

/** What came of a stream before it broke off. */
export interface Seen {
  readonly nodes: ReadonlySet<string>;
  /** The last line of work that takes minutes. */
  readonly line: string | undefined;
}

/** The lines of a stream, and if it breaks off, those that `rest` finds elsewhere; each node once. */
export async function* goingOn(
  lines: AsyncIterable<StreamLine>,
  rest: (seen: Seen) => AsyncIterable<StreamLine> | undefined,
): AsyncGenerator<StreamLine> {
  const nodes = new Set<string>();
  let last: string | undefined;
  try {
    for await (const line of lines) {
      if (isResult(line)) nodes.add(line.node!);
      if (line.progress) last = line.progress.line;
      yield line;
    }
  } catch (error) {
    const others = error instanceof NotReached ? rest({ nodes, line: last }) : undefined;
    if (!others) throw error;
    try {
      for await (const line of others) if (line.node === undefined || !nodes.has(line.node)) yield line;
    } catch (later) {
      // Runs of a server that shares no database with the other are not known there.
      throw later instanceof Refused ? error : later;
    }
  }
}

/** What a node prints before its result is none. */
const isResult = ({ node, stdout, stderr }: StreamLine): boolean =>
  node !== undefined && stdout === undefined && stderr === undefined;

/** For commands whose reply is no stream. */
export async function* wholeReply(reply: WireReply, place: string): AsyncGenerator<StreamLine> {
  const text = await textOf(reply, place);
  yield { value: text.trim() === '' ? undefined : parsed(text) };
  yield { summary: { nodes: 0, ok: 0, failed: 0 } };
}

/** More than any line of muster's. Whatever sends more would fill the memory. */
export const longestLine = 67_108_864;

/** The lines of a stream without their newlines, those together that came together. What follows the last newline is no line. */
export async function* lineBatches(body: AsyncIterable<Buffer>): AsyncGenerator<readonly string[]> {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const chunk of body) {
    const lines = decoder.decode(chunk, { stream: true }).split('\n');
    lines[0] = rest + lines[0]!;
    rest = lines.pop()!;
    if (rest.length > longestLine) throw new Garbled('The server sends a line without an end; is it muster?');
    yield lines;
  }
}
