import { unwatchAbort, watchAbort } from '../../../core/waiting.ts';
import { Fault } from '../../../core/errors.ts';
import { abortFault } from '../faults.ts';
import { type RemoteFiles, shown } from './files.ts';
import { refusalOf, SftpRefusal, type SftpSession, statuses } from './session.ts';
import { pieceSize, type SharedSource } from './source.ts';
import { temporaryEnding } from './temporary-names.ts';
import { type Attributes, openFlags, type RemotePath, requests, RequestWriter } from './wire.ts';

/** Bytes sent to a node that it has not confirmed yet. */
const window = 3 * pieceSize;
/** The longest name of a file on Linux, in bytes. */
const longestName = 255;
/** Milliseconds to clean up after a copy that was cancelled, also on a node that is very busy. */
const cleanUp = 30_000;

/** Writes a file under a temporary name and renames it, so that there is always the old one or the new one. */
export async function putFile(
  files: RemoteFiles,
  source: SharedSource,
  path: RemotePath,
  signal: AbortSignal,
  attributes: Attributes = {},
): Promise<void> {
  if (signal.aborted) throw abortFault(signal);
  const { session } = files;
  const what = `${shown(path)} could not be written`;
  const temporary = temporaryName(path);
  const flags = openFlags.write | openFlags.create | openFlags.exclusive;
  const request = new RequestWriter().bytes(temporary).word(flags).attributes({ mode: 0o600 });
  const handle = Buffer.from((await session.ask(requests.open, request, what)).bytes());
  try {
    await writeAll(session, handle, source, what, signal);
    const { mode, accessed, modified } = source;
    // The server does them in order, so nothing is waited for in between.
    const wanted = new RequestWriter().bytes(handle).attributes({ mode, accessed, modified, ...attributes });
    const [seen] = await Promise.all([
      session.ask(requests.fstat, new RequestWriter().bytes(handle), what),
      session.ask(requests.fsetstat, wanted, what),
      session.ask(requests.close, new RequestWriter().bytes(handle), what),
    ]);
    const { size } = seen.attributes();
    if (size !== source.size) {
      throw new Fault('invalid', `${what}: of ${source.size} bytes ${size ?? 'an unknown number'} arrived.`);
    }
    if (signal.aborted) throw abortFault(signal);
    await files.rename(temporary, path);
  } catch (error) {
    const said = signal.aborted ? abortFault(signal) : await explained(files, temporary, source.size, error, what);
    await discard(session, handle, temporary);
    throw said;
  }
}

/** Beside the file, and with no longer a name than a file may have. */
function temporaryName(path: RemotePath): Buffer {
  const bytes = typeof path === 'string' ? Buffer.from(path) : path;
  const start = bytes.lastIndexOf('/') + 1;
  const ending = Buffer.from(temporaryEnding());
  const name = bytes.subarray(start, start + longestName - ending.length - 1);
  return Buffer.concat([bytes.subarray(0, start), Buffer.from('.'), name, ending]);
}

function writeAll(
  session: SftpSession,
  handle: Buffer,
  source: SharedSource,
  what: string,
  signal: AbortSignal,
): Promise<void> {
  return new Promise((resolve, reject) => {
    let next = 0;
    let unconfirmed = 0;
    let reading = false;
    let over = false;
    const end = (error?: Error): void => {
      if (over) return;
      over = true;
      unwatchAbort(signal, watch);
      if (error === undefined) resolve();
      else reject(error);
    };
    const watch = { aborted: (): void => end(abortFault(signal)) };
    const write = (piece: Buffer): void => {
      reading = false;
      if (over) return;
      unconfirmed += piece.length;
      const request = new RequestWriter()
        .bytes(handle)
        .long(next++ * pieceSize)
        .bytes(piece);
      session.send(requests.write, request, (answer) => {
        unconfirmed -= piece.length;
        const refusal = answer === undefined ? session.fault : refusalOf(answer, what);
        if (refusal) end(refusal);
        else advance();
      });
      advance();
    };
    const advance = (): void => {
      if (over || reading) return;
      if (next === source.pieces) {
        if (unconfirmed === 0) end();
        return;
      }
      if (unconfirmed >= window) return;
      reading = true;
      source.piece(next).then(write, end);
    };
    watchAbort(signal, watch);
    // It may have been cancelled while the node opened the file.
    if (signal.aborted) watch.aborted();
    else advance();
  });
}

/** Servers say only that a write failed; a full disk is the usual reason. */
async function explained(
  files: RemoteFiles,
  temporary: Buffer,
  size: number,
  error: unknown,
  what: string,
): Promise<unknown> {
  if (!(error instanceof SftpRefusal) || error.status !== statuses.failure) return error;
  const [free, present] = await Promise.all([files.free(temporary), files.stat(temporary)]).catch(() => []);
  if (free === undefined || free >= size - (present?.size ?? 0)) return error;
  return new Fault('invalid', `${what}: the disk is full; the file has ${size} bytes.`, { cause: error });
}

/** Takes the temporary file away again, if the node still answers. */
function discard(session: SftpSession, handle: Buffer, temporary: Buffer): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => session.close(), cleanUp).unref();
    session.send(requests.close, new RequestWriter().bytes(handle), () => undefined);
    session.send(requests.remove, new RequestWriter().bytes(temporary), () => {
      clearTimeout(timer);
      resolve();
    });
  });
}
