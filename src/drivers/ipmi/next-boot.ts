import { Fault } from '../../core/errors.ts';
import {
  type BootDevice,
  type BootFlags,
  type BootOverride,
  getBootFlags,
  setBootFlags,
} from '../../protocols/ipmi/commands/chassis.ts';
import type { BootOrder, NextBoot } from '../capabilities.ts';
import type { Bmc } from './bmc.ts';

const devices: Readonly<Record<Exclude<BootOrder, 'def'>, BootDevice>> = {
  net: 'network',
  hd: 'disk',
  cd: 'cd',
  floppy: 'floppy',
  setup: 'setup',
};

const deviceTexts: Readonly<Record<BootDevice, string>> = {
  none: 'BIOS default',
  network: 'Network',
  disk: 'Hard Drive',
  safeDisk: 'Hard Drive',
  diagnostics: 'Diagnostic Partition',
  cd: 'CD/DVD',
  setup: 'BIOS Setup',
  remoteFloppy: 'Floppy',
  remoteCd: 'CD/DVD',
  remoteMedia: 'Remote Media',
  remoteDisk: 'Hard Drive',
  floppy: 'Floppy',
};

const deviceText = ({ device }: BootFlags): string => (device === undefined ? 'Unknown' : deviceTexts[device]);

const flagsText = (flags: BootFlags): string => (flags.valid ? deviceText(flags) : 'boot override inactive');

/** Some hardware drops the valid bit of what it was sent and boots from the device all the same. */
const keptText = (wanted: BootOverride | undefined, flags: BootFlags): string =>
  wanted === undefined || flags.valid
    ? flagsText(flags)
    : `${deviceText(flags)} (its BMC took the device, but shows the override as inactive)`;

/** Hardware may take a setting and not keep it; that must not look like success. */
function checkKept(wanted: BootOverride | undefined, flags: BootFlags): void {
  if (wanted === undefined) {
    if (!flags.valid || flags.device === 'none') return;
    throw new Fault('invalid', `its BMC keeps its boot override ${flagsText(flags)}.`);
  }
  if (flags.device !== wanted.device) {
    const want = deviceTexts[wanted.device];
    const shown = flags.valid ? flagsText(flags) : `${flagsText(flags)}, device ${deviceText(flags)}`;
    throw new Fault('invalid', `its BMC took the boot override ${want} but shows: ${shown}.`);
  }
  if (wanted.persistent && flags.valid && !flags.persistent) {
    throw new Fault('invalid', 'its BMC keeps the boot override for the next boot only, not for good.');
  }
}

export function ipmiNextBoot(bmc: Bmc): NextBoot {
  return {
    async get(signal) {
      return flagsText(await getBootFlags(bmc.link, signal));
    },
    async set(order, { persistent, mode }, signal) {
      const wanted = order === 'def' ? undefined : { device: devices[order], persistent, efi: mode === 'uefi' };
      await setBootFlags(bmc.link, wanted, signal);
      const flags = await getBootFlags(bmc.link, signal);
      checkKept(wanted, flags);
      return keptText(wanted, flags);
    },
  };
}
