/**
 * What a machine that boots from the network is told to load, by the architecture it names. All but iPXE itself get iPXE; what a node
 * then does is decided by a script that iPXE fetches under the MAC address. Paths are below the root of the TFTP and of the HTTP server.
 */
export interface BootFile {
  readonly name: string;
  /** RFC 4578 and its registry. */
  readonly architectures: readonly number[];
  readonly file: string;
  readonly http: boolean;
}

export const bootFiles: readonly BootFile[] = [
  { name: 'bios', architectures: [0x00], file: 'undionly.kpxe', http: false },
  { name: 'uefi-x64', architectures: [0x07, 0x09], file: 'ipxe.efi', http: false },
  { name: 'uefi-arm64', architectures: [0x0b], file: 'ipxe-arm64.efi', http: false },
  { name: 'http-x64', architectures: [0x10], file: 'ipxe.efi', http: true },
  { name: 'http-arm64', architectures: [0x13], file: 'ipxe-arm64.efi', http: true },
];

/** An address as a URL has it, with the port unless it is the usual one. */
export function httpAuthority(address: string, port: string): string {
  const host = address.includes(':') ? `[${address}]` : address;
  return port === '80' || port === '' ? host : `${host}:${port}`;
}
