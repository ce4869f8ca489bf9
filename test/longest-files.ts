/**
 * Files that take minutes; one that began among the last would be waited for alone. Those that boot machines are far enough from each
 * other not to run at the same time: each keeps the processors busy.
 */
export const longest: readonly string[] = [
  'test/boot/end-to-end-memory.test.ts',
  'test/services/images/gen-debian.test.ts',
  'test/cli/replay-hardware.test.ts',
  'test/services/boot/states.test.ts',
  'test/services/dns/crash.test.ts',
  'test/boot/end-to-end-disk.test.ts',
  'test/services/discovery/lab.test.ts',
  'test/services/images/gen-rpm.test.ts',
  'test/rest/process.test.ts',
  'test/boot/end-to-end-firmware.test.ts',
  'test/cli/client.test.ts',
  'test/process/kill.test.ts',
  'test/dispatch/job.test.ts',
  'test/boot/ramdisk.test.ts',
  'test/services/images/killed.test.ts',
  'test/rest/image-instance.test.ts',
  'test/services/dhcp/faults.test.ts',
  'test/boot/debian-installer.test.ts',
];
