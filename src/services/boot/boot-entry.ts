import type { KernelArguments } from './script-words.ts';

/** What a node is to boot, as its boot loader is told. */
export interface BootEntry {
  readonly node: string;
  /** As `chain.currstate` has it: the first comment of every script, by which people recognise it. */
  readonly state: string;
  readonly arch: string;
  readonly ip: string | undefined;
  readonly mac: string | undefined;
  /** The address of this server as the node sees it, and the port of its files. */
  readonly server: string;
  readonly httpPort: number;
  /** The directory of TFTP files, as it is called in URLs. */
  readonly tftpDirectory: string;
  /** Absent: the node boots from its disk. */
  readonly load: Load | undefined;
}

export interface Load extends KernelArguments {
  /** Below the TFTP directory, without a slash before. */
  readonly kernel: string;
  readonly initrd: string;
  /** Firmware can start the kernel itself. */
  readonly efiStub: boolean;
}
