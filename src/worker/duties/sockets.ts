import { readdirSync, readlinkSync } from 'node:fs';
import { endianness } from 'node:os';
import { readOptional } from '../../core/files.ts';
import { type ListenAddress } from '../../core/host-address.ts';
import { parseIp } from '../../core/ip.ts';

/** A socket as the kernel lists it. */
interface Socket {
  readonly family: 4 | 6;
  /** The address as a number; 0 is any address. */
  readonly address: bigint;
  readonly port: number;
  readonly inode: string;
}

/** As the columns of /proc/net show them: TCP that listens, and UDP that has no single peer. */
const states = { tcp: '0A', udp: '07' } as const;

function socketsAt(protocol: keyof typeof states, port: number): Socket[] {
  const families = [
    [4, protocol],
    [6, `${protocol}6`],
  ] as const;
  return families.flatMap(([family, table]) =>
    (readOptional(`/proc/net/${table}`) ?? '').split('\n').flatMap((line) => {
      const [, local = '', , state, , , , , , inode = ''] = line.trim().split(/\s+/);
      const [address = '', own = ''] = local.split(':');
      if (state !== states[protocol] || Number.parseInt(own, 16) !== port) return [];
      return { family, address: addressOf(address), port, inode };
    }),
  );
}

/** The kernel prints words of 32 bits as this machine keeps them. */
function addressOf(hex: string): bigint {
  const bytes = Buffer.from(hex, 'hex');
  if (endianness() === 'LE') bytes.swap32();
  return BigInt(`0x${bytes.toString('hex')}`);
}

/** Whether a socket is the process's own; undefined: this cannot be seen here, in a container for instance. */
function ownerCheck(pid: number | undefined): ((socket: Socket) => boolean) | undefined {
  const directory = `/proc/${pid}/fd`;
  try {
    const links = new Set(readdirSync(directory).map((name) => linkOf(`${directory}/${name}`)));
    return ({ inode }) => links.has(`socket:[${inode}]`);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EACCES') return undefined;
    return () => false;
  }
}

function linkOf(path: string): string | undefined {
  try {
    return readlinkSync(path);
  } catch (error) {
    // It has closed the file meanwhile.
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

/** Whether the process listens there by TCP. On any address: whether it listens on one of them. */
export function listensOn({ host, port }: ListenAddress, pid: number | undefined): boolean {
  const isOwn = ownerCheck(pid) ?? (() => true);
  const wanted = parseIp(host);
  return socketsAt('tcp', port).some(
    (socket) =>
      isOwn(socket) && (!wanted || wanted.value === 0n || socket.address === 0n || socket.address === wanted.value),
  );
}

/** Whether another process listens there by TCP, so that this one cannot. */
export function isTaken({ host, port }: ListenAddress, pid: number): boolean {
  const isOwn = ownerCheck(pid);
  const wanted = parseIp(host);
  if (!isOwn || !wanted) return false;
  return socketsAt('tcp', port).some(
    (socket) =>
      !isOwn(socket) && socket.family === wanted.family && (socket.address === 0n || socket.address === wanted.value),
  );
}

/** Whether the process receives what is sent to a port by UDP. */
export const receivesAt = (port: number, pid: number | undefined): boolean =>
  socketsAt('udp', port).some(ownerCheck(pid) ?? (() => true));
