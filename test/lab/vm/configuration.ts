import { labAccounts } from '../addresses.ts';
import { guid, macAddress } from '../bmc/configuration.ts';

export interface Machine {
  readonly index: number;
  readonly address: string;
  readonly directory: string;
}

export const ports = { console: 9000, inBand: 9002, serial: 9003, relay: 9005 } as const;

/** What a machine is made of. Its disk and its network card are called disk0 and nic0, so that their order can be changed. */
export interface Hardware {
  /** Makes the files it needs in its directory. */
  prepare(machine: Machine, texts: { readonly disk: string; readonly network: string }): Promise<void>;
  /** The program and its arguments for a shell; `$network` and `$disk` are their places in the boot order. */
  qemu(machine: Machine): readonly string[];
}

export const talkerArguments = (machine: Machine): string[] => {
  const { index, directory } = machine;
  return [
    `qemu-system-x86_64 -name muster-vm${index} -machine pc,accel=tcg,graphics=off -cpu max -m 256 -display none -nodefaults -no-user-config`,
    `-drive if=none,id=hd,file=${directory}/disk.img,format=raw`,
    '-device virtio-blk-pci,id=disk0,drive=hd,bootindex=$disk',
    `-netdev user,id=net,restrict=on,tftp=${directory}/tftp,bootfile=boot.ipxe`,
    `-device virtio-net-pci,id=nic0,netdev=net,mac=${machineMac(index)},bootindex=$network`,
    ...serviceArguments(machine),
  ];
};

export const machineMac = (index: number): string => `52:54:00:bc:01:${index.toString(16).padStart(2, '0')}`;

/** What belongs to its BMC: the serial line, the monitor, and on PCs the way from inside unless that is closed. */
export function serviceArguments({ address, directory }: Machine, isPc = true, isOpen = true): string[] {
  const serial = `-chardev socket,id=serial,host=${address},port=${ports.serial},server=on,wait=off,telnet=on,logfile=${directory}/serial.log,logappend=on`;
  const monitor = `-qmp unix:${directory}/qmp,server=on,wait=off`;
  if (!isPc) return [serial, '-serial chardev:serial', monitor];
  return [
    ...(isOpen
      ? [
          `-chardev socket,id=ipmi,host=${address},port=${ports.inBand},reconnect=2`,
          '-device ipmi-bmc-extern,id=bmc,chardev=ipmi -device isa-ipmi-kcs,bmc=bmc',
        ]
      : []),
    serial,
    '-device isa-serial,chardev=serial',
    monitor,
  ];
}

/** The startcmd of ipmi_sim. It must become QEMU itself: ipmi_sim watches the process, whose end is power off. */
export function startScript({ directory }: Machine, qemu: readonly string[]): string {
  return [
    '#!/bin/sh',
    `echo $$ >${directory}/qemu.pid`,
    `read -r device rest <${directory}/bootnow || device=none`,
    'case $device in pxe) network=1 disk=2 ;; *) network=2 disk=1 ;; esac',
    `exec setpriv --pdeathsig KILL ${qemu.join(' \\\n  ')} </dev/null >>${directory}/qemu.log 2>&1`,
    '',
  ].join('\n');
}

/** `serialPort`: where ipmi_sim finds the serial line when it starts; it does not look again. */
export function lanFile({ index, address, directory }: Machine, module: string, serialPort: number): string {
  const { username, password } = labAccounts.administrator;
  const moduleOptions = `statefile=${directory}/changes vm=1 bootnow=${directory}/bootnow qmp=${directory}/qmp`;
  return [
    `name "vm${index}"`,
    `loadlib "${module}" "${moduleOptions}"`,
    `console ${address} ${ports.console}`,
    'set_working_mc 0x20',
    'startlan 1',
    `addr ${address} 623`,
    'priv_limit admin',
    'allowed_auths_user md5',
    'allowed_auths_operator md5',
    'allowed_auths_admin md5',
    `guid ${guid(index)}`,
    `lan_config_program "${directory}/lanctl.sh ${directory} ${address} ${macAddress(index)}"`,
    'endlan',
    `serial kcs ${address} ${ports.inBand} codec VM`,
    `sol "telnet:${address}:${serialPort}" 115200 history=16000`,
    `startcmd "${directory}/start.sh"`,
    'startnow false',
    'poweroff_wait 5',
    'kill_wait 2',
    `user 2 true "${username}" "${password}" admin 10 md5`,
    '',
  ].join('\n');
}

export const emulatorFile = [
  'mc_setbmc 0x20',
  'mc_add 0x20 0 no-device-sdrs 0x23 2 0x15 0xbf 0x4f4d 0x0103',
  'sel_enable 0x20 1000 0x0a',
  'sensor_add 0x20 0 0 35 0x6f event-only',
  'mc_enable 0x20',
  'lab_ready 0x20',
  '',
].join('\n');
