import { Fault } from '../../core/errors.ts';
import { formatListen, type ListenAddress } from '../../core/host-address.ts';
import type { Logger } from '../../core/log.ts';
import { openReal } from '../../core/open-real.ts';
import { type Source, TftpRefusal, TftpServer } from '../../protocols/tftp/server.ts';
import { bootClient, type Found } from '../routes/route.ts';
import { type BootSource, nameSegments } from './catalog.ts';

export interface TftpServices {
  readonly source: BootSource;
  readonly log: Logger;
  /** What transfers of an address are counted by. */
  countedAs(address: string): string;
  /** The port of HTTP, for scripts that lead there. */
  httpPort(): number;
}

/** Serves the same files by TFTP. */
export async function listenTftp({ host, port }: ListenAddress, services: TftpServices): Promise<TftpServer> {
  const { source, log, httpPort, countedAs } = services;
  try {
    return await TftpServer.listen({
      address: host,
      port,
      countedAs,
      async open(name, from, server) {
        const segments = nameSegments(name);
        const client = bootClient(from, server, httpPort(), 'tftp');
        const served = segments && (await source.find(segments, client).catch(refuse));
        if (!served) throw new TftpRefusal('notFound', 'There is no such file.');
        const at = new Date();
        const { size, read, close } = await sourceOf(served.found);
        return {
          size,
          read,
          async close(complete) {
            await close(complete);
            // Whoever has not answered may have written a node's address on its request.
            if (!complete && served.found.step === 'script') return;
            served.fetched({ at, source: 'tftp', bytes: size, complete });
          },
        };
      },
      ended: (transfer) => log.debug(transfer, 'a file was sent by TFTP'),
      failed: (error) => log.error({ err: error }, 'a boot file could not be served by TFTP'),
    });
  } catch (error) {
    const where = formatListen({ host, port });
    throw new Fault('unavailable', `Cannot serve boot files by TFTP on ${where}: ${(error as Error).message}.`);
  }
}

function refuse(error: unknown): never {
  if (!(error instanceof Fault)) throw error;
  throw new TftpRefusal(error.kind === 'denied' ? 'accessViolation' : 'notFound', error.message);
}

async function sourceOf(found: Found): Promise<Source> {
  if (found.kind === 'file') return fileSource(found.path);
  // What a BMC fetches, it fetches by HTTP.
  if (found.kind === 'pieces') throw new TftpRefusal('notFound', 'There is no such file.');
  return madeSource(found.kind === 'text' ? Buffer.from(found.text) : found.bytes);
}

function madeSource(bytes: Buffer): Source {
  return {
    size: bytes.length,
    read: (buffer, position) => Promise.resolve(bytes.copy(buffer, 0, position)),
    close: () => Promise.resolve(),
  };
}

async function fileSource(path: string): Promise<Source> {
  const file = await openReal(path);
  const stat = await file.stat();
  if (!stat.isFile()) {
    await file.close();
    throw new TftpRefusal('notFound', 'There is no such file.');
  }
  return {
    size: stat.size,
    read: async (buffer, position) => (await file.read(buffer, 0, buffer.length, position)).bytesRead,
    close: () => file.close(),
  };
}
