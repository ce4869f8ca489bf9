import { describe, expect, it } from 'vitest';
import { reachingPart } from '../../../src/drivers/kvm/moved-definition.ts';
import { readXml } from '../../../src/protocols/libvirt/xml.ts';

/** As libvirt shows a machine that runs, with the usual devices. */
const definition = (devices = '', more = '', os = ''): string => `<domain type='kvm' id='3'>
  <name>v1</name><uuid>4dea22b3-1d52-d8f3-2516-782e98ab3fa0</uuid>
  <metadata><muster:machine xmlns:muster='urn:muster:machine'/></metadata>
  <memory unit='KiB'>524288</memory><currentMemory unit='KiB'>524288</currentMemory><vcpu placement='static'>2</vcpu>
  <resource><partition>/machine</partition></resource>
  <os firmware='efi'><type arch='x86_64' machine='pc-q35-7.2'>hvm</type>
    <loader readonly='yes' type='pflash'>/usr/share/OVMF/OVMF_CODE_4M.fd</loader>
    <nvram template='/usr/share/OVMF/OVMF_VARS_4M.fd'>/var/lib/libvirt/qemu/nvram/v1_VARS.fd</nvram><boot dev='hd'/>${os}</os>
  <features><acpi/></features><cpu mode='host-model'/><clock offset='utc'><timer name='rtc'/></clock>
  <on_poweroff>destroy</on_poweroff><on_reboot>restart</on_reboot><on_crash>destroy</on_crash><pm><suspend-to-mem enabled='no'/></pm>
  <devices>
    <emulator>/usr/bin/qemu-system-x86_64</emulator>
    <disk type='file' device='disk'><driver name='qemu' type='qcow2'/><source file='/srv/vms/v1.vda.qcow2' index='1'/>
      <backingStore type='file'><format type='qcow2'/><source file='/srv/vms/gold.vda.qcow2'/></backingStore><target dev='vda' bus='virtio'/></disk>
    <disk type='file' device='cdrom'><target dev='sda' bus='sata'/></disk>
    <controller type='pci' model='pcie-root'/>
    <interface type='bridge'><mac address='52:54:00:00:00:01'/><source bridge='br0'/><target dev='vnet0'/><model type='virtio'/></interface>
    <interface type='direct'><source dev='eth1' mode='bridge'/></interface>
    <serial type='pty'><source path='/dev/pts/3'/><target port='0'/></serial>
    <console type='pty' tty='/dev/pts/3'><source path='/dev/pts/3'/></console>
    <channel type='unix'><source mode='bind' path='/run/libvirt/qemu/channel/3-v1/org.qemu.guest_agent.0'/></channel>
    <channel type='spicevmc'/><input type='tablet' bus='usb'/><graphics type='vnc' port='5900'><listen type='address' address='0.0.0.0'/></graphics>
    <rng model='virtio'><backend model='random'>/dev/urandom</backend></rng><tpm model='tpm-crb'><backend type='emulator' version='2.0'/></tpm>
    <memballoon model='virtio'/>${devices}
  </devices>
  <seclabel type='dynamic' model='dac' relabel='yes'><label>+64055:+64055</label></seclabel>${more}
</domain>`;
const part = (xml: string, passesDevices = false) => reachingPart(readXml(xml), passesDevices);

describe('the definition of a machine that moves', () => {
  it('brings along what machines usually have', () => {
    expect(part(definition())).toBeUndefined();
  });

  const disk = (type: string, source: string, device = 'disk') =>
    `<disk type='${type}' device='${device}'><source ${source}/><target dev='vdb'/></disk>`;
  it.each([
    ['', `<qemu:commandline xmlns:qemu='http://libvirt.org/schemas/domain/qemu/1.0'/>`, '<qemu:commandline>'],
    ['', `<commandline xmlns='http://libvirt.org/schemas/domain/qemu/1.0'/>`, '<commandline>'],
    ['', `<seclabel type='none'/>`, "<seclabel type='none'>"],
    ['', `<sysinfo type='fwcfg'><entry name='opt/x' file='/etc/shadow'/></sysinfo>`, '<sysinfo> of files'],
    ['', `<devices><filesystem/></devices>`, '<filesystem>'],
    ['', `<bootloader>/bin/sh</bootloader>`, '<bootloader>'],
    [`<emulator>/tmp/qemu</emulator>`, '', 'the emulator /tmp/qemu'],
    [`<emulator>/usr/bin/../../tmp/qemu</emulator>`, '', 'the emulator /usr/bin/../../tmp/qemu'],
    [`<filesystem type='mount'><source dir='/'/><target dir='x'/></filesystem>`, '', '<filesystem>'],
    [`<hostdev mode='subsystem' type='pci'/>`, '', '<hostdev>'],
    [`<memory model='nvdimm'><source><path>/etc/shadow</path></source></memory>`, '', '<memory>'],
    [`<interface type='ethernet'/>`, '', "<interface type='ethernet'>"],
    [`<interface type='bridge'><script path='x'/></interface>`, '', '<script> in <interface>'],
    [`<interface type='bridge'><backend tap='/dev/sda'/></interface>`, '', '/dev/sda in <interface>'],
    [`<serial type='file'><source path='/root/.ssh/authorized_keys'/></serial>`, '', "<serial type='file'>"],
    [`<serial type='pty'><log file='/etc/cron.d/x'/></serial>`, '', '<log> in <serial>'],
    [
      `<channel type='unix'><source mode='connect' path='/run/libvirt/libvirt-sock'/></channel>`,
      '',
      '/run/libvirt/libvirt-sock in <channel>',
    ],
    [
      `<channel type='unix'><source path='/run/libvirt/qemu/../libvirt-sock'/></channel>`,
      '',
      '/run/libvirt/qemu/../libvirt-sock in <channel>',
    ],
    [`<input type='evdev'><source dev='/dev/input/event0'/></input>`, '', "<input type='evdev'>"],
    [`<audio id='1' type='file' path='/etc/x'/>`, '', '/etc/x in <audio>'],
    [`<tpm><backend type='passthrough'/></tpm>`, '', '<backend> in <tpm>'],
    [`<rng><backend model='random'>/dev/sda</backend></rng>`, '', '/dev/sda in <rng>'],
    [disk('block', `dev='/dev/sda'`, 'cdrom'), '', 'the disk /dev/sda'],
    [disk('file', `file='/etc/shadow'`, 'floppy'), '', 'the disk /etc/shadow'],
    [disk('file', `file='/srv/../etc/shadow'`), '', 'the disk /srv/../etc/shadow'],
    [disk('dir', `dir='/srv'`), '', "<disk type='dir'>"],
    [
      `<disk type='file'><source file='/srv/a'/><backingStore><source file='//etc/shadow'/></backingStore></disk>`,
      '',
      'the disk //etc/shadow',
    ],
  ])('but not %s%s', (devices, more, expected) => {
    expect(part(definition(devices, more))).toBe(expected);
  });

  it.each([
    ['<initrd>/etc/shadow</initrd>', '<initrd> in <os>'],
    ['<loader>/etc/shadow</loader>', 'the firmware /etc/shadow'],
    ['<loader>/usr/share/../../etc/shadow</loader>', 'the firmware /usr/share/../../etc/shadow'],
    ["<nvram template='/etc/shadow'/>", 'the firmware /etc/shadow'],
    ['<nvram>/srv/vms/v2.vda.raw</nvram>', 'the UEFI variables /srv/vms/v2.vda.raw'],
  ])('nor to boot from %s', (os, expected) => {
    expect(part(definition('', '', os))).toBe(expected);
  });

  it('may have devices of the hypervisor where the node is to have them', () => {
    expect(part(definition(`<hostdev mode='subsystem' type='pci'/>`), true)).toBeUndefined();
  });
});
