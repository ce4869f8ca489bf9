import { basename } from 'node:path';
import { Fault } from '../core/errors.ts';
import type { FirmwareSource } from '../drivers/index.ts';
import type { CargoRoot } from './remote/cargo.ts';
import type { LocalFiles } from './remote/local-files.ts';

/** UpdateService.TransferProtocolType, as schemes of addresses. */
const schemes = ['http', 'https', 'ftp', 'sftp', 'tftp', 'scp', 'nfs', 'cifs'];
const mediaSchemes = ['http', 'https', 'ftp', 'sftp', 'tftp', 'scp', 'nfs', 'cifs', 'smb'];
const longestAddress = 2_048;

export function checkMediaAddress(text: string): void {
  checkImageAddress(text, mediaSchemes);
}

export function checkImageAddress(text: string, known: readonly string[] = schemes): void {
  const url = URL.parse(text);
  const scheme = url?.protocol.replace(/:$/, '') ?? '';
  if (!url || url.hostname === '' || text.length > longestAddress || !/^[\x21-\x7e]+$/.test(text))
    throw new Fault('invalid', 'The address of the image is not a URL such as https://files.example.com/bios.bin.');
  if (!known.includes(scheme))
    throw new Fault('invalid', `BMCs fetch images by ${known.join(', ')}, not by "${scheme}".`);
  if (url.username !== '' || url.password !== '')
    throw new Fault(
      'invalid',
      'The address of the image has an account in it, which everybody on the BMC could read. Use an address that needs none.',
    );
}

/** What stands behind the question mark may be a signature that opens the address. */
export const shownAddress = (text: string): string => text.replace(/[?#].*$/s, '?...');

interface Image {
  readonly roots: readonly CargoRoot[];
  readonly received?: string | undefined;
}

/** The image of a command, which is opened and hashed once for all nodes. */
export async function imageOf<T>(
  { roots, received }: Image,
  files: LocalFiles,
  work: (source: Extract<FirmwareSource, { kind: 'file' }>) => Promise<T>,
): Promise<T> {
  const { items } = await (received === undefined ? files.cargo(roots) : files.received(received));
  const [item] = items;
  if (!item || items.length !== 1 || item.kind !== 'file')
    throw new Fault('invalid', 'an image is one file, not a directory, a link or several files; nothing was sent.');
  if (item.size === 0) throw new Fault('invalid', 'the image is empty; nothing was sent.');
  const sha256 = await files.hash(item.from);
  const name = basename((received === undefined ? item.from : item.name).toString());
  return files.use(item.from, (source) =>
    work({
      kind: 'file',
      name,
      size: source.size,
      sha256,
      async *pieces() {
        for (let index = 0; index < source.pieces; index++) yield await source.piece(index);
      },
    }),
  );
}
