/**
 * The boot sector of a machine of type `pc`: it has the power button tell (PM1a_EN), looks at it 18 times a second (PM1a_STS) and
 * switches off (PM1a_CNT) when it was pressed. QEMU's firmware puts these registers at 0x600.
 */
export function bootSector(): Buffer {
  const code = Buffer.from(
    [
      'fb', //          sti: the timer ends every halt
      'ba0206b80001ef', // out 0x602, 0x0100
      'baf803b052ee', // out 0x3f8, 'R' on the serial console: ready
      'ba0006', //      look: dx = 0x600
      'ed', //          in ax, dx
      'f6c401', //      test ah, 1
      '7503', //        jnz off
      'f4', //          hlt
      'ebf3', //        jmp look
      'ba0406b80020ef', // off: out 0x604, 0x2000
      'f4ebfd', //      halt
    ].join(''),
    'hex',
  );
  const disk = Buffer.alloc(1024 * 1024);
  disk.set(code);
  disk.set([0x55, 0xaa], 510);
  return disk;
}

export interface GuestOptions {
  readonly disk?: string;
  /** The file that the serial console is written to. */
  readonly console?: string;
  /** It has a serial console that libvirt opens. */
  readonly hasTerminal?: boolean;
  /** Milliseconds that the firmware waits before it boots. */
  readonly bootDelay?: number | undefined;
  readonly uuid?: string;
}

/** A small machine that runs on every host. */
export const guestXml = (
  name: string,
  { disk, uuid, console, hasTerminal, bootDelay }: GuestOptions = {},
): string => `<domain type='qemu'>
<name>${name}</name>${uuid === undefined ? '' : `<uuid>${uuid}</uuid>`}<memory unit='MiB'>16</memory><vcpu>1</vcpu>
<os><type arch='x86_64' machine='pc'>hvm</type><boot dev='hd'/>${bootDelay === undefined ? '' : `<bootmenu enable='yes' timeout='${bootDelay}'/>`}</os><features><acpi/></features>
<on_reboot>restart</on_reboot><devices>
${disk === undefined ? '' : `<disk type='file' device='disk'><driver name='qemu' type='raw'/><source file='${disk}'/><target dev='vda' bus='virtio'/></disk>`}
${console === undefined ? '' : `<serial type='file'><source path='${console}'/></serial>`}
${hasTerminal ? "<serial type='pty'/><console type='pty'/>" : ''}
<memballoon model='none'/><controller type='usb' model='none'/></devices></domain>`;
