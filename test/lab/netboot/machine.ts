import { cp, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Hardware, machineMac, serviceArguments } from '../vm/configuration.ts';
import { tapOf } from './network.ts';

/** With `secure` only loaders that Microsoft's authorities have signed are started. */
export type Firmware = 'bios' | 'uefi' | 'secure';

export interface BootHardware {
  readonly firmware: Firmware;
  /** Which of the firmware's clients it boots by; only UEFI has `http`. */
  readonly client?: 'pxe' | 'http';
  /** MiB */
  readonly memory?: number;
  /** GiB of a disk with nothing on it; without, it has none. */
  readonly disk?: number;
  /** The same of a second one. */
  readonly secondDisk?: number;
  /** It has a drive for CDs, and boots from what lies in its directory as `cd.iso` when it is switched on. */
  readonly cd?: boolean;
  /** What its node is defined with besides; without a MAC address nobody knows the machine. */
  readonly attributes?: Readonly<Record<string, string>>;
  /** Its BMC cannot be asked from inside; on PCs it can. */
  readonly hidesProcessor?: boolean;
  /** The loader that DHCP sends it to, as nodes are defined; that of its firmware if absent. */
  readonly netboot?: string;
}

const isArm = process.arch === 'arm64';
/** The architecture of the machines: this machine's own. */
export const machineArch = isArm ? 'aarch64' : 'x86_64';
/** The serial line as the kernel calls it. */
export const machineConsole = isArm ? 'ttyAMA0' : 'ttyS0';

interface Kind {
  readonly machine: readonly string[];
  /** Code and variables; without, the machine's own firmware. */
  readonly flash?: readonly [code: string, variables: string];
}

const ovmf = (name: string): string => `/usr/share/OVMF/OVMF_${name}.fd`;
const aavmf = (name: string): string => `/usr/share/AAVMF/AAVMF_${name}.fd`;
const virt = ['-machine virt,accel=tcg -cpu max,pauth-impdef=on'];

const kinds: Readonly<Record<Firmware, Kind>> = isArm
  ? {
      bios: { machine: virt },
      uefi: { machine: virt, flash: [aavmf('CODE'), aavmf('VARS')] },
      secure: { machine: virt, flash: [aavmf('CODE.ms'), aavmf('VARS.ms')] },
    }
  : {
      // A BIOS that has found nothing to boot begins again, as those of servers do: on a busy machine DHCP may answer too late.
      bios: { machine: ['-machine pc,accel=tcg,graphics=off -cpu max -boot reboot-timeout=5000'] },
      uefi: { machine: ['-machine q35,accel=tcg,graphics=off -cpu max'], flash: [ovmf('CODE_4M'), ovmf('VARS_4M')] },
      secure: {
        machine: [
          '-machine q35,accel=tcg,graphics=off,smm=on -cpu max',
          '-global driver=cfi.pflash01,property=secure,value=on -global ICH9-LPC.disable_s3=1',
        ],
        flash: [ovmf('CODE_4M.secboot'), ovmf('VARS_4M.ms')],
      },
    };

/** A machine on the bridge of a boot network, under software emulation: where there is KVM it need not run firmware. */
export function bootHardware(options: BootHardware): Hardware {
  const { firmware, client = 'pxe', memory = 1024, disk, secondDisk, cd = false, hidesProcessor = false } = options;
  const disks = Object.entries({ disk, disk2: secondDisk }).filter(([, size]) => size !== undefined);
  const { machine: words, flash } = kinds[firmware];
  return {
    async prepare({ directory }) {
      if (flash) await cp(flash[1], join(directory, 'variables'));
      for (const [name, size] of disks) {
        await writeFile(join(directory, `${name}.img`), '');
        await truncate(join(directory, `${name}.img`), size! * 1024 ** 3);
      }
    },
    qemu(machine) {
      const { index, directory } = machine;
      // Without the card's own iPXE the client of UEFI is used.
      const rom = flash ? ',romfile=' : '';
      return [
        `qemu-system-${machineArch} -name muster-boot${index} ${words.join(' ')} -m ${memory} -display none -nodefaults -no-user-config`,
        ...(flash
          ? [
              `-drive if=pflash,unit=0,format=raw,readonly=on,file=${flash[0]}`,
              `-drive if=pflash,unit=1,format=raw,file=${directory}/variables`,
              `-fw_cfg name=opt/org.tianocore/IPv6PXESupport,string=no`,
              ...(client === 'http' ? ['-fw_cfg name=opt/org.tianocore/IPv4PXESupport,string=no'] : []),
            ]
          : []),
        ...disks.flatMap(([name], place) => [
          `-drive if=none,id=hd${place},file=${directory}/${name}.img,format=raw,cache=unsafe`,
          `-device virtio-blk-pci,id=disk${place},drive=hd${place},${place === 0 ? 'bootindex=$disk,' : ''}serial=DISK${index}${place === 0 ? '' : '-2'}`,
        ]),
        ...(cd
          ? [
              `-drive if=none,id=cd,media=cdrom,readonly=on,format=raw,file=${directory}/cd.iso`,
              '-device virtio-scsi-pci -device scsi-cd,drive=cd,bootindex=0',
            ]
          : []),
        `-netdev tap,id=net,ifname=${tapOf(index)},script=no,downscript=no`,
        `-device virtio-net-pci,id=nic0,netdev=net,mac=${machineMac(index)},bootindex=$network${rom}`,
        '-device virtio-rng-pci',
        `-smbios type=1,manufacturer=Lab,product=Box,serial=${machineSerial(index)},uuid=${machineUuid(index)}`,
        ...serviceArguments(machine, !isArm, !hidesProcessor),
      ];
    },
  };
}

export const machineSerial = (index: number): string => `SN${String(index).padStart(4, '0')}`;
export const machineUuid = (index: number): string =>
  `00000000-0000-4000-8000-5254000000${index.toString(16).padStart(2, '0')}`;
