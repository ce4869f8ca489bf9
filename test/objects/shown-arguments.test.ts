import { expect, test } from 'vitest';
import { nodeType, typeNamed } from '../../src/objects/types.ts';
import {
  shownAttribute,
  shownColumn,
  shownKeys,
  shownRange,
  shownSettings,
} from '../../src/objects/shown-arguments.ts';

test.for([
  ['node', 'mgt', 'ipmi', 'mgt=ipmi'],
  ['node', 'bmcpassword', 'hush', 'bmcpassword=xxxxxxxx'],
  ['node', 'bmcpassword', '', 'bmcpassword='],
  ['node', 'bmcpasword', 'hush', 'bmcpasword=xxxxxxxx'],
  ['node', 'nicips.eth0', '10.0.0.1', 'nicips.eth0=10.0.0.1'],
  ['network', 'bmcpassword', 'hush', 'bmcpassword=xxxxxxxx'],
  ['site', 'anything', 'open', 'anything=open'],
  ['site', 'adminpassword', 'hush', 'adminpassword=xxxxxxxx'],
  ['node', 'bmcpassword=hush', '', 'bmcpassword=xxxxxxxx='],
  ['group', 'wherevals', 'mgt==ipmi', 'wherevals=mgt==ipmi'],
  ['group', 'wherevals', 'mgt==ipmi::bmcpassword=~hush', 'wherevals=mgt==ipmi::bmcpassword=~xxxxxxxx'],
] as const)('of a %s, %s=%s is shown as %s', ([type, name, value, shown]) => {
  expect(shownAttribute(type === 'node' ? nodeType : typeNamed(type), name, value)).toBe(shown);
});

test.for([
  ['ipmi', 'bmc', 'b1', 'ipmi.bmc=b1'],
  ['ipmi', 'password', 'hush', 'ipmi.password=xxxxxxxx'],
  ['ipmi', 'pasword', 'hush', 'ipmi.pasword=xxxxxxxx'],
  ['nosuch', 'password', 'hush', 'nosuch.password=xxxxxxxx'],
  ['ipmi', 'password=hush', '1', 'ipmi.password=xxxxxxxx=xxxxxxxx'],
  ['nodegroup', 'wherevals', 'bmcpassword==hush', 'nodegroup.wherevals=bmcpassword==xxxxxxxx'],
] as const)('of table %s, %s=%s is shown as %s', ([table, column, value, shown]) => {
  expect(shownColumn(table, column, value)).toBe(shown);
});

test.for([
  ['passwd', 'key=system,username=root', 'key=system,username=root'],
  ['passwd', 'key=system,password=hush', 'key=system,password=xxxxxxxx'],
  ['passwd', 'password=hush,still hush', 'password=xxxxxxxx'],
  ['passwd', 'pass word=hush', 'pass word=xxxxxxxx'],
  ['nosuch', 'password=hush', 'password=xxxxxxxx'],
  ['passwd', 'key=xcat,hush', 'key=xcat,xxxxxxxx'],
] as const)('row keys of table %s: %s is shown as %s', ([table, keys, shown]) => {
  expect(shownKeys(table, keys)).toBe(shown);
});

test.for([
  ['n1,n[2-5]', 'n1,n[2-5]'],
  ['nodelist.groups==all', 'nodelist.groups==all'],
  ['all,ipmi.password==hush,n1', 'all,ipmi.password==xxxxxxxx'],
  ['(all@pdu.community=~hush)', '(all@pdu.community=~xxxxxxxx'],
  ['switches.sshpassword!=hush', 'switches.sshpassword!=xxxxxxxx'],
  ['n1,password=hush', 'n1,password=xxxxxxxx'],
] as const)('the range %s is shown as %s', ([range, shown]) => {
  expect(shownRange(range)).toBe(shown);
});

test('settings are shown if they are known and no secrets', () => {
  const given = { ip: '10.0.0.1', cappingstatus: 'on', password: 'hush', pasword: 'hush', 'password=hush': '' };
  const shown = [
    'ip=10.0.0.1',
    'cappingstatus=on',
    'password=xxxxxxxx',
    'pasword=xxxxxxxx',
    'password=xxxxxxxx=xxxxxxxx',
  ];
  expect(shownSettings(given)).toEqual(shown);
});

test('a long text without conditions is looked at once', () => {
  expect(shownRange(`${'x'.repeat(65_536)} = ${'a.b '.repeat(10_000)}`)).toHaveLength(65_536 + 3 + 40_000);
});
