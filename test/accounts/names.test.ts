import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { openAccounts } from '../../src/accounts/index.ts';
import { accountIn } from '../../src/accounts/oidc/claims.ts';
import { calledBy, escapeNamePart, isBelow, nameKey, parseName } from '../../src/accounts/ldap/names.ts';
import { isDisabled } from '../../src/accounts/ldap/person.ts';
import { loadConfig } from '../../src/config.ts';
import { siteAccountName } from '../../src/accounts/sources.ts';

describe('distinguished names', () => {
  it.each<[text: string, key: string | undefined]>([
    ['', ''],
    ['CN=Admins, OU=Groups,dc=Cluster', 'cn=admins,ou=groups,dc=cluster'],
    ['cn = a  b ,dc=x', 'cn=a b,dc=x'],
    [String.raw`cn=a\,b,dc=x`, String.raw`cn=a\,b,dc=x`],
    [String.raw`cn=a\2cb,dc=x`, String.raw`cn=a\,b,dc=x`],
    [String.raw`cn=J\c3\bcrgen,dc=x`, 'cn=jürgen,dc=x'],
    ['ou=b+cn=a,dc=x', 'cn=a+ou=b,dc=x'],
    [String.raw`cn=ends\ ,dc=x`, String.raw`cn=ends\ ,dc=x`],
    ['2.5.4.3=a', '2.5.4.3=a'],
    ['cn', undefined],
    ['cn=a,', undefined],
    ['cn=a+', undefined],
    ['cn="a,b",dc=x', undefined],
    [String.raw`cn=a\\`.slice(0, -1), undefined],
    ['=a', undefined],
  ])('%s has the key %s', (text, key) => {
    expect(nameKey(text)).toBe(key);
  });

  it('hold any value, escaped', () => {
    for (const value of ['alice', 'a,b', ' a ', '#a', 'a\\b', 'a+b=c;d<e>f"g', 'a\0b', 'ü🙂'])
      expect(parseName(`cn=${escapeNamePart(value)},dc=x`)).toEqual([
        [{ type: 'cn', value }],
        [{ type: 'dc', value: 'x' }],
      ]);
  });

  it('are below others part by part', () => {
    expect(isBelow('cn=a,ou=groups,dc=x', 'OU=Groups,DC=x')).toBe(true);
    expect(isBelow('cn=a,ou=mygroups,dc=x', 'ou=groups,dc=x')).toBe(false);
    expect(isBelow(String.raw`cn=a\,ou=groups,dc=x`, 'ou=groups,dc=x')).toBe(false);
    expect(isBelow('cn="a,ou=groups,dc=x', 'ou=groups,dc=x')).toBe(false);
  });

  it('are called by their first part, if it is of the type', () => {
    expect(calledBy(String.raw`CN=a\,b,ou=x`, 'cn')).toBe('a,b');
    expect(calledBy('ou=x,cn=a', 'cn')).toBeUndefined();
    expect(calledBy('cn=a+ou=x,dc=y', 'cn')).toBeUndefined();
  });
});

describe('names of accounts', () => {
  it.each<[typed: string, name: string | undefined]>([
    ['alice', 'alice'],
    ['Alice', 'alice'],
    [' alice\t', 'alice'],
    ['j.smith+x@cluster', 'j.smith+x@cluster'],
    ['host$', 'host$'],
    ['', undefined],
    ['-rf', undefined],
    ['al ice', undefined],
    ['alice*', undefined],
    ['alice)(uid=*', undefined],
    ['al,ice', undefined],
    ['alice\0', undefined],
    ['alice\n', undefined],
    // Letters that would become those of another name: a Kelvin sign, a dotless i, full width.
    ['\u212Aarl', undefined],
    ['al\u0131ce', undefined],
    ['\uFF41lice', undefined],
    ['@admins', undefined],
    ['a'.repeat(64), undefined],
  ])('%j is the account %s', (typed, name) => {
    expect(siteAccountName(typed)).toBe(name);
  });
});

describe('claims of a provider', () => {
  const settings = { name: 'preferred_username', domain: undefined, groups: 'groups' } as never;
  const claims = { iss: 'https://idp', sub: '1', preferred_username: 'alice' };

  it('name an account and its groups', () => {
    expect(accountIn({ ...claims, groups: ['Ops'] }, settings)).toEqual({
      name: 'alice',
      id: 'https://idp 1',
      groups: ['ops'],
    });
    expect(accountIn(claims, settings).groups).toEqual([]);
  });

  it('that leave out groups, since there are too many, are no login: a rule may refuse one of them', () => {
    const source = { endpoint: 'https://idp/groups' };
    const names = { _claim_names: { groups: 'src1' }, _claim_sources: { src1: source } };
    expect(() => accountIn({ ...claims, ...names }, settings)).toThrow('very many groups');
  });
});

describe('an entry is disabled', () => {
  const now = Date.UTC(2026, 10, 19);
  it.each<[attributes: Record<string, string>, disabled: boolean]>([
    [{}, false],
    [{ userAccountControl: '512' }, false],
    [{ userAccountControl: '514' }, true],
    [{ accountExpires: '0' }, false],
    [{ accountExpires: '9223372036854775807' }, false],
    [{ accountExpires: '133000000000000000' }, true],
    [{ accountExpires: '139000000000000000' }, false],
    [{ NSAccountLock: 'TRUE' }, true],
    [{ loginDisabled: 'FALSE' }, false],
    [{ pwdAccountLockedTime: '000001010000Z' }, true],
    [{ pwdAccountLockedTime: '20261118120000Z' }, false],
    [{ shadowExpire: '1' }, true],
    [{ shadowExpire: '99999' }, false],
    [{ shadowExpire: '-1' }, false],
  ])('by %j: %s', (attributes, disabled) => {
    expect(isDisabled({ dn: 'uid=a', ...attributes }, now)).toBe(disabled);
  });
});

describe('settings are refused that', () => {
  it.each<[what: string, config: string, says: string]>([
    ['have no servers for a source', '[accounts]\nsources = ["ldap"]', 'ldap.servers is not set'],
    ['name a source twice', '[accounts]\nsources = ["pam", "pam"]', 'names a source twice'],
    ['name no source that there is', '[accounts]\nsources = ["nis"]', 'accounts.sources'],
    ['would find everybody', '[ldap]\nuserFilter = "(objectClass=person)"', 'has no {name} in it'],
    ['have a filter that is none', '[ldap]\nuserFilter = "(uid={name}"', 'ldap.userFilter'],
    ['would send passwords in the clear', '[ldap]\nservers = ["http://ldap"]', 'ldaps://'],
    ['have no base', '[ldap]\nservers = ["ldaps://ldap"]', 'ldap.base is not'],
    ['have half a login', '[ldap]\nbindDn = "cn=reader"', 'ldap.bindPasswordFile belong together'],
    ['name a PAM service elsewhere', '[pam]\nservice = "../shadow"', 'pam.service'],
    [
      'ask somebody after a directory that does not say whom it has',
      '[accounts]\nsources = ["ldap", "pam"]\n[ldap]\nservers = ["ldaps://ldap"]\nbase = "dc=x"\nuserDn = "uid={name},dc=x"',
      'must be the last',
    ],
  ])('%s', (_what, text, says) => {
    const directory = mkdtempSync(join(tmpdir(), 'muster-settings-'));
    const config = join(directory, 'muster.toml');
    writeFileSync(config, text);
    expect(() => openAccounts(loadConfig({ config }, {}), [], {} as never)).toThrow(says);
    rmSync(directory, { recursive: true });
  });
});
