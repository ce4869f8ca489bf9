import { describe, expect, it } from 'vitest';
import { checkHostAddress } from '../../src/core/host-address.ts';

describe('checkHostAddress', () => {
  it.each([
    '127.140.0.010',
    '127.140.1',
    '2130706433',
    '0x7f.140.0.3',
    '0x7F000001',
    '0177.0.0.1',
    '10.0.0.300',
    '10.0.0.1.2',
    '10.0.0.1.',
    '10..0.1',
    '10.0.0.7 ',
    '\uff11\uff12\uff17.0.0.1',
    '10\u30020\u30020\u3002010',
    '127.0.0.\u00ad010',
    '.',
    '',
  ])('refuses %j', (text) => {
    expect(checkHostAddress(text)?.message).toContain(`"${text}" is neither an IP address nor a host name`);
  });

  it.each([
    '127.140.0.10',
    '0.0.0.0',
    'fd00::1',
    '::ffff:10.0.0.7',
    'fe80::1%eth0',
    'bmc1',
    'n1-bmc.example.com',
    '1u-server',
    '3com.example',
    'abc.def',
    'bmc.1a',
    'bücher.example',
  ])('lets %j pass', (text) => {
    expect(checkHostAddress(text)).toBeUndefined();
  });
});
