import { unwatchAbort, watchAbort } from '../../../core/aborts.ts';
import { Fault } from '../../../core/errors.ts';
import { abortFault } from '../faults.ts';
import { type RemoteFiles, shown } from './files.ts';
import { SftpRefusal, statuses } from './session.ts';
import { openFlags, type RemotePath, requests, RequestWriter } from './wire.ts';

/** What every server gives at once. */
const pieceSize = 32 * 1024;
/** Pieces that are asked for ahead. */
const ahead = 16;

/** Reads a file on a node piece by piece, in order; what is not taken yet holds the node back. Returns its size. */
export async function getFile(
  files: RemoteFiles,
  path: RemotePath,
  take: (piece: Buffer) => void | Promise<void>,
  signal: AbortSignal,
): Promise<number> {
  if (signal.aborted) throw abortFault(signal);
  const { session } = files;
  const what = `${shown(path)} could not be read`;
  const opening = new RequestWriter().bytes(path).word(openFlags.read).attributes({});
  const handle = Buffer.from((await session.ask(requests.open, opening, what)).bytes());
  let cancel: (() => void) | undefined;
  const cancelled = new Promise<never>((_, reject) => (cancel = () => reject(abortFault(signal))));
  cancelled.catch(() => undefined);
  const watch = { aborted: (): void => cancel?.() };
  watchAbort(signal, watch);

  /** Undefined at the end of the file. */
  const read = async (offset: number, length: number): Promise<Buffer | undefined> => {
    try {
      const request = new RequestWriter().bytes(handle).long(offset).word(length);
      return (await session.ask(requests.read, request, what)).bytes();
    } catch (error) {
      if (error instanceof SftpRefusal && error.status === statuses.endOfFile) return undefined;
      throw error;
    }
  };
  const asked: Promise<Buffer | undefined>[] = [];
  let next = 0;
  const askAhead = (): void => {
    while (asked.length < ahead) {
      const piece = read(next, pieceSize);
      piece.catch(() => undefined);
      asked.push(piece);
      next += pieceSize;
    }
  };
  try {
    for (let offset = 0; ; ) {
      askAhead();
      let piece = await Promise.race([asked.shift()!, cancelled]);
      if (piece === undefined) return offset;
      if (piece.length > pieceSize) throw new Fault('garbled', `${what}: more came than was asked for.`);
      const end = offset + pieceSize;
      for (;;) {
        await take(piece);
        offset += piece.length;
        if (offset === end) break;
        // Less than asked for: the rest of this piece, or the end.
        piece = await Promise.race([read(offset, end - offset), cancelled]);
        if (piece === undefined || piece.length === 0) return offset;
      }
    }
  } finally {
    unwatchAbort(signal, watch);
    session.send(requests.close, new RequestWriter().bytes(handle), () => undefined);
  }
}
