import type { FileHandle } from 'node:fs/promises';

const pieceSize = 512 * 1024;

/** A part of a file. The next piece is read while one is used. */
export async function* piecesOf(
  file: FileHandle,
  start: number,
  size: number,
  signal: AbortSignal,
): AsyncIterable<Buffer> {
  const end = start + size;
  const readAt = async (at: number): Promise<Buffer> => {
    const wanted = Math.min(pieceSize, end - at);
    const { buffer, bytesRead } = await file.read(Buffer.allocUnsafe(wanted), 0, wanted, at);
    return buffer.subarray(0, bytesRead);
  };
  for (let at = start; at < end; ) {
    signal.throwIfAborted();
    const piece = await readAt(at);
    if (piece.length === 0) return;
    at += piece.length;
    yield piece;
  }
}
