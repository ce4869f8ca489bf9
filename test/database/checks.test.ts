import { expect, test } from 'vitest';
import { Fault } from '../../src/core/errors.ts';
import { checkValue, maximumValueLength } from '../../src/database/checks.ts';
import { tableNamed } from '../../src/database/tables.ts';

function problemOf(place: string, value: string): string {
  const [table, column] = place.split('.') as [string, string];
  try {
    checkValue(tableNamed(table), column, value, { [tableNamed(table).keys[0]!]: 'n1' });
    return '';
  } catch (error) {
    expect(error).toBeInstanceOf(Fault);
    expect((error as Fault).kind).toBe('invalid');
    return (error as Fault).message;
  }
}

test.each([
  ['hosts.ip', '10.0.0.1'],
  ['hosts.ip', 'fe80::1'],
  ['hosts.ip', '|n(\\d+)|10.0.0.($1)|'],
  ['hosts.ip', '/n/m/'],
  ['hosts.ip', '10.0.0.1+=NEXTRECORD'],
  ['hosts.ip', ''],
  ['ipmi.bmc', 'n1-bmc'],
  ['ipmi.bmc', '10.0.0.1,10.0.0.2'],
  ['openbmc.bmc', 'bmc.example.org'],
  ['openbmc.bmc', '10-1-0-7.bmc'],
  ['ipmi.bmc', '|n(\\d+)|10.0.0.0($1)|'],
  ['ipmi.bmcport', '0'],
  ['ipmi.bmcport', '2 0'],
  ['ipmi.bmcport', '8443'],
  ['ipmi.bmcport', '|n(\\d+)|(6000+$1)|'],
  ['mac.mac', '00:11:22:aa:bb:cc'],
  ['mac.mac', '001122AABBCC'],
  ['mac.mac', '00:11:22:33:44:55!n1-eth0|00:11:22:33:44:66!*NOIP*'],
  ['mac.mac', '80:00:00:48:fe:80:00:00:00:00:00:00:00:02:c9:03:00:0a:00:01'],
  ['networks.net', 'fd00::'],
  ['networks.mask', '255.255.254.0'],
  ['networks.mask', '0.0.0.0'],
  ['networks.mask', '255.255.255.255'],
  ['networks.mask', 'ffff:ffff::'],
  ['networks.mask', '/64'],
  ['networks.gateway', '<xcatmaster>'],
  ['networks.tftpserver', '<xcatmaster>'],
  ['networks.mtu', '9000'],
  ['policy.priority', '4.2'],
  ['nodehm.mgt', 'free text, of any sort: ä€😀 "quoted"'],
])('%s may be %j', (place, value) => {
  expect(problemOf(place, value)).toBe('');
});

test.each([
  ['hosts.ip', '10.0.0.300'],
  ['hosts.ip', 'n1'],
  ['ipmi.bmc', 'a b'],
  ['ipmi.bmc', '10.0.0.1,-x'],
  ['openbmc.bmc', '$(reboot)'],
  ['ipmi.bmc', '127.141.0.010'],
  ['ipmi.bmc', '127.140.1'],
  ['ipmi.bmc', '2130706433'],
  ['ipmi.bmc', '10.0.0.1,256.1.1.1'],
  ['openbmc.bmc', '0x7f.140.0.3'],
  ['networks.tftpserver', '10.1'],
  ['ipmi.bmcport', 'abc'],
  ['ipmi.bmcport', '99999'],
  ['ipmi.bmcport', '2 8443'],
  ['ipmi.bmcport', '-1'],
  ['mac.mac', '00:11:22:33:44'],
  ['mac.mac', '00:11:22:33:44:55|nothing'],
  ['networks.net', '10.0.0'],
  ['networks.mask', '255.0.255.0'],
  ['networks.mask', '/129'],
  ['networks.mask', '24'],
  ['networks.gateway', 'router'],
  ['networks.dhcpserver', 'a;b'],
  ['networks.mtu', 'large'],
  ['networks.mtu', '67'],
  ['routes.net', 'x'],
  ['routes.mask', 'x'],
  ['policy.priority', 'first'],
  ['policy.priority', '1.'],
  ['nodehm.mgt', 'two\nlines'],
  ['nodehm.mgt', 'a\u0000b'],
  ['nodehm.mgt', 'a\tb'],
  ['nodehm.mgt', 'a\u007fb'],
  ['nodehm.mgt', 'half a pair \ud800'],
  ['nodehm.mgt', 'x'.repeat(maximumValueLength + 1)],
  // A pattern is computed per node and checked there, but it is still one line of text.
  ['hosts.ip', '|n|10.0.0.1\n|'],
])('%s cannot be %j', (place, value) => {
  expect(problemOf(place, value)).toContain(`${place} of n1: `);
});
