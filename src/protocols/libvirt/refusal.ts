import { LibvirtFault, libvirtWords } from './faults.ts';
import type { XdrReader } from './xdr-reader.ts';

/** What stands instead of a result. Only what is told to people or decided by is read: the rest is libvirt's own. */
export function readRefusal(where: string, body: XdrReader): LibvirtFault {
  const code = body.int();
  /* The part of libvirt that it comes from. */
  body.int();
  const text = body.optional(() => body.string()) ?? `error ${code}`;
  return new LibvirtFault('refused', `libvirt on ${where} says: ${libvirtWords(text)}`, { code });
}
