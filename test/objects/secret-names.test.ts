import { describe, expect, test } from 'vitest';
import { isSecretName, sentenceWithoutSecrets, withoutSecrets } from '../../src/objects/secret-names.ts';

describe('a name', () => {
  test.for([
    'password',
    'Password',
    'bmcpassword',
    'MYSQL_PASSWORD',
    'userPW',
    'bmcpw',
    'pass',
    'passwd',
    'passphrase',
    'client-secret',
    'api_key',
    'token',
    'tokenid',
    'community',
    'auth',
    'privacy',
    'snmpauth',
    'productkey',
    'ipmi.password',
    'prodkey.key',
    'ipmi.passwort',
    'passwd.HMC',
    'snmppassword',
    'apitoken',
    'privatekey',
    'password2',
    'password_prod',
    'apitokenvalue',
    'communitystring',
    'privatekeypem',
    'hmackey',
    ' apitoken ',
    'snmpc',
  ])('%s is that of a secret', (name) => {
    expect(isSecretName(name)).toBe(true);
  });

  test.for(['key', 'username', 'groups', 'passwd.key', 'passwd.username', 'token.username', 'site.key', 'authdomain'])(
    '%s is not',
    (name) => {
      expect(isSecretName(name)).toBe(false);
    },
  );

  test.for([
    'genpasswords',
    'proxybypass',
    'pdu.authtype',
    'zone.sshkeydir',
    'tokenexpiredays',
    'secretary',
    'compute',
    '',
    '.',
  ])('%s is not either', (name) => {
    expect(isSecretName(name)).toBe(false);
  });
});

test.for([
  ['n1,n[2-5]', 'n1,n[2-5]'],
  ['nodelist.groups==all', 'nodelist.groups==all'],
  ['key=xcat,username=root', 'key=xcat,username=root'],
  ['password=hush', 'password=xxxxxxxx'],
  ['PASSWORD = hush,still hush', 'PASSWORD = xxxxxxxx'],
  ['n1,bmcpassword!~hush', 'n1,bmcpassword!~xxxxxxxx'],
  ['password%3Dhush', 'password%3Dxxxxxxxx'],
  ['password:hush', 'password:xxxxxxxx'],
  ['{"password": "hush"}', '{"password": xxxxxxxx'],
  ['password=xxxxxxxx,bmcpw=hush', 'password=xxxxxxxx,bmcpw=xxxxxxxx'],
  ['password=xxxxxxxxhush', 'password=xxxxxxxx'],
  ['password=', 'password='],
  ['http://token/', 'http://token/'],
  ['https://user:hush@host/path', 'https://xxxxxxxx@host/path'],
  ['url=http:user:hush@h/x', 'url=http:xxxxxxxx@h/x'],
  ['url=https:/user:hush@h/', 'url=https:/xxxxxxxx@h/'],
  ['url=http:\\\\user:hush@h\\x', 'url=http:\\\\xxxxxxxx@h\\x'],
  ['https://hush@host/path n1', 'https://xxxxxxxx@host/path n1'],
  ['https://user:hu/sh "is@hush@host/', 'https://xxxxxxxx@host/'],
  ['https://host:8443/path a@b', 'https://host:8443/path a@b'],
  ['key=apitoken,value=hush', 'key=apitoken,value=xxxxxxxx'],
  ['value=hush,key=apitoken', 'value=xxxxxxxx'],
  ['key=domain,value=cluster', 'key=domain,value=cluster'],
  ['genpasswords=yes', 'genpasswords=yes'],
])('%s is shown as %s', ([text, shown]) => {
  expect(withoutSecrets(text!)).toBe(shown);
});

test.for([
  ['"password=hush" is not an attribute of a node.', '"password=xxxxxxxx" is not an attribute of a node.'],
  ['"n1,pw=hu"sh" is not known; "n1" is.', '"n1,pw=xxxxxxxx" is.'],
  ['There is nothing at /password=hush.', 'There is nothing at /password=xxxxxxxx.'],
  ['bmcpassword: the value is an array; give a string.', 'bmcpassword: the value is an array; give a string.'],
  ['Give the value, for example {"password":"..."}.', 'Give the value, for example {"password":"..."}.'],
  ['The path takes bmcuser=..., bmcpw=..., with commas.', 'The path takes bmcuser=..., bmcpw=..., with commas.'],
  ['"passwd": give it as {"passwd":{"comments":"text"}}.', '"passwd": give it as {"passwd":{"comments":"text"}}.'],
])('the sentence %s is told as %s', ([sentence, told]) => {
  expect(sentenceWithoutSecrets(sentence!)).toBe(told);
});

test('a sentence about the placeholder of a secret is shown whole, and a value behind it is not', () => {
  for (const placeholder of ['#SECRET:ipmi:$NODE:password#', '#SECRET:site:joinpassword:value#']) {
    const sentence = `/install/overlays/own/key.tmpl, line 1: ${placeholder} has no value. Set it.`;
    expect(sentenceWithoutSecrets(sentence)).toBe(sentence);
    expect(sentenceWithoutSecrets(`${sentence} password=opensesame`)).not.toContain('opensesame');
  }
  expect(sentenceWithoutSecrets('password=#SECRET:a:b:c#')).not.toContain('a:b');
});
