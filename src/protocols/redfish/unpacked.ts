import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import { Fault } from '../../core/errors.ts';

const unzip = promisify(gunzip);

/** Some services keep large documents packed by gzip, and send them so whatever was asked for. A bomb is a Fault. */
export async function unpacked(bytes: Buffer, path: string, most: number): Promise<Buffer> {
  if (bytes[0] !== 0x1f || bytes[1] !== 0x8b) return bytes;
  try {
    return await unzip(bytes, { maxOutputLength: most });
  } catch (error) {
    const isLarge = (error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE';
    const what = isLarge ? `unpacks to more than ${most} bytes` : 'is packed by gzip and damaged';
    throw new Fault('garbled', `what its BMC answered to GET ${path} ${what}.`, { cause: error });
  }
}
