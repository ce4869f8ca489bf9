import type { IncomingMessage, ServerResponse } from 'node:http';
import { pipeline } from 'node:stream/promises';
import { matchesTag } from '../../core/entity-tag.ts';
import { openReal } from '../../core/open-real.ts';
import { type Piece, type Pieces, sizeOf } from '../media/iso-image.ts';

export interface Sent {
  /** Undefined: that is not known. */
  readonly bytes: number | undefined;
  /** The client has asked for the whole, and got it. */
  readonly complete: boolean | undefined;
}

/** Two of them are under way for each client. */
const chunk = 131_072;

/** Sends a file, or the part of it that the client wants. */
export async function sendFile(request: IncomingMessage, response: ServerResponse, path: string): Promise<Sent> {
  const file = await openReal(path);
  try {
    const { size, mtimeNs, isFile } = await file.stat({ bigint: true }).then((stat) => ({
      size: Number(stat.size),
      mtimeNs: stat.mtimeNs,
      isFile: stat.isFile(),
    }));
    if (!isFile) throw Object.assign(new Error(`${path} is no file`), { code: 'EISDIR' });
    const tag = `"${mtimeNs.toString(36)}-${size.toString(36)}"`;
    const range = begin(request, response, tag, size);
    if (range === undefined) return { bytes: 0, complete: false };
    const whole = range.first === 0 && range.last === size - 1;
    if (request.method === 'HEAD' || size === 0) {
      response.end();
      return { bytes: 0, complete: request.method !== 'HEAD' };
    }
    const stream = file.createReadStream({
      start: range.first,
      end: range.last,
      highWaterMark: chunk,
      autoClose: false,
    });
    try {
      await pipeline(stream, response);
    } catch (error) {
      if (!isLeave(error)) throw error;
      return { bytes: stream.bytesRead, complete: false };
    }
    return { bytes: range.last - range.first + 1, complete: whole };
  } finally {
    await file.close();
  }
}

/** The client has gone, or was given up. */
const isLeave = (error: unknown): boolean =>
  ['ERR_STREAM_PREMATURE_CLOSE', 'ECONNRESET', 'EPIPE'].includes((error as NodeJS.ErrnoException).code ?? '');

/** The same of bytes that lie in several places. */
export async function sendPieces(
  request: IncomingMessage,
  response: ServerResponse,
  { pieces, size, tag }: Pieces & { readonly tag: string },
): Promise<Sent> {
  const range = begin(request, response, tag, size);
  if (range === undefined) return { bytes: 0, complete: false };
  if (request.method === 'HEAD') {
    response.end();
    return { bytes: 0, complete: false };
  }
  try {
    await pipeline(bytesOf(pieces, range), response);
  } catch (error) {
    if (!isLeave(error)) throw error;
    return { bytes: undefined, complete: false };
  }
  return { bytes: range.last - range.first + 1, complete: range.first === 0 && range.last === size - 1 };
}

async function* bytesOf(pieces: readonly Piece[], { first, last }: ByteRange): AsyncGenerator<Buffer> {
  let begins = 0;
  for (const piece of pieces) {
    const from = Math.max(first - begins, 0);
    const to = Math.min(last + 1 - begins, sizeOf(piece));
    begins += sizeOf(piece);
    if (from >= to) continue;
    if (Buffer.isBuffer(piece)) {
      yield piece.subarray(from, to);
      continue;
    }
    const file = await openReal(piece.path);
    try {
      yield* file.createReadStream({ start: from, end: to - 1, highWaterMark: chunk, autoClose: false });
    } finally {
      await file.close();
    }
  }
}

/** Sends what was made for this client, as a whole. */
export function sendMade(request: IncomingMessage, response: ServerResponse, made: string | Buffer): Sent {
  const bytes = Buffer.byteLength(made);
  const type = typeof made === 'string' ? 'text/plain' : 'application/octet-stream';
  response.writeHead(200, { 'Content-Type': type, 'Content-Length': bytes, 'Cache-Control': 'no-store' });
  response.end(request.method === 'HEAD' ? undefined : made);
  return { bytes, complete: true };
}

/** Writes status and headers; undefined: that is the whole answer. */
function begin(request: IncomingMessage, response: ServerResponse, tag: string, size: number) {
  const { headers } = request;
  response.setHeader('Content-Type', 'application/octet-stream');
  response.setHeader('ETag', tag);
  response.setHeader('Accept-Ranges', 'bytes');
  if (matchesTag(headers['if-none-match'], tag)) {
    response.writeHead(304).end();
    return undefined;
  }
  const wanted = headers['if-range'] === undefined || headers['if-range'] === tag ? headers.range : undefined;
  const range = byteRange(wanted, size);
  if (range === 'unsatisfiable') {
    response.writeHead(416, { 'Content-Range': `bytes */${size}`, 'Content-Length': 0 }).end();
    return undefined;
  }
  if (!range) {
    response.writeHead(200, { 'Content-Length': size });
    return { first: 0, last: size - 1 };
  }
  response.writeHead(206, {
    'Content-Length': range.last - range.first + 1,
    'Content-Range': `bytes ${range.first}-${range.last}/${size}`,
  });
  return range;
}

interface ByteRange {
  readonly first: number;
  readonly last: number;
}

/** RFC 9110, 14.1.2. Undefined: the whole is sent, as for several ranges or units that are not known. */
function byteRange(header: string | undefined, size: number): ByteRange | 'unsatisfiable' | undefined {
  const match = /^bytes=(\d{0,15})-(\d{0,15})$/.exec(header ?? '');
  const [, from = '', to = ''] = match ?? [];
  if (from === '' && to === '') return undefined;
  if (from === '') {
    const length = Math.min(Number(to), size);
    return length === 0 ? 'unsatisfiable' : { first: size - length, last: size - 1 };
  }
  const first = Number(from);
  if (to !== '' && Number(to) < first) return undefined;
  if (first >= size) return 'unsatisfiable';
  return { first, last: to === '' ? size - 1 : Math.min(Number(to), size - 1) };
}
