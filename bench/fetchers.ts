// Fetches files over HTTP, many at once, and throws away what comes. Asked with { port, path, count }, it answers with the bytes of all
// bodies and headers when everything has come; a reply that is not 200 is an error.
import { connect } from 'node:net';

/** One for all: nobody looks at it. */
const buffer = Buffer.allocUnsafe(1_048_576);

function fetchOne(port: number, path: string): Promise<number> {
  return new Promise((resolve, reject) => {
    let bytes = 0;
    const socket = connect({
      port,
      host: '127.0.0.1',
      onread: {
        buffer,
        callback(count) {
          if (bytes === 0 && !buffer.toString('latin1', 0, 12).startsWith('HTTP/1.1 200'))
            reject(new Error(`${path}: ${buffer.toString('latin1', 0, Math.min(count, 200))}`));
          bytes += count;
          return true;
        },
      },
    });
    socket.on('error', reject);
    socket.on('end', () => resolve(bytes));
    socket.write(`GET ${path} HTTP/1.1\r\nHost: bench\r\nConnection: close\r\n\r\n`);
  });
}

process.on('message', ({ port, path, count }: { port: number; path: string; count: number }) => {
  void Promise.all(Array.from({ length: count }, () => fetchOne(port, path))).then((all) =>
    process.send!(all.reduce((sum, bytes) => sum + bytes, 0)),
  );
});
