import { FilterParser } from 'ldapts';
import { Type } from 'typebox';
import { Fault } from '../../core/errors.ts';
import { Count, kind, Path, setting, Switch, type ValuesOf } from '../../core/settings.ts';
import { parseName } from './names.ts';

const isServerUrl = (text: string): boolean => {
  const url = URL.parse(text);
  return (
    /^ldaps?:$/.test(url?.protocol ?? '') &&
    url!.hostname !== '' &&
    ['', '/'].includes(url!.pathname + url!.search) &&
    url!.username === ''
  );
};

const Servers = kind(
  'one or more addresses such as ldaps://ldap1.cluster or ldap://ldap1.cluster',
  Type.Array(Type.Refine(Type.String(), isServerUrl), { minItems: 1 }),
);
const isName = (text: string): boolean => parseName(text.replaceAll(/\{\w+\}/g, 'x')) !== undefined;
const Name = kind(
  'a distinguished name such as ou=people,dc=cluster',
  Type.Refine(Type.String({ minLength: 1 }), isName),
);
const isFilter = (text: string): boolean => {
  try {
    FilterParser.parseString(text.replaceAll(/\{\w+\}/g, 'x'));
    return true;
  } catch {
    return false;
  }
};
const Filter = kind('a filter such as (uid={name})', Type.Refine(Type.String({ minLength: 1 }), isFilter));
const Attribute = kind('the name of an attribute', Type.String({ pattern: '^[A-Za-z][A-Za-z0-9-]*$' }));

/** Section `ldap`: the directory of the site. */
export const ldapSettings = Type.Decode(
  Type.Object({
    servers: setting(
      Servers,
      'servers of the directory, in the order in which muster asks them: `ldaps://HOST:PORT`, or `ldap://HOST:PORT` with StartTLS; nothing is sent without TLS',
      { defaultText: 'none' },
    ),
    ca: setting(Path, 'PEM file with the certificate authority of these servers', {
      defaultText: 'the authorities that Node knows',
    }),
    base: setting(Name, 'where the entries of people are', { defaultText: 'none' }),
    bindDn: setting(Name, 'entry that muster looks up people as', { defaultText: 'none: without a login' }),
    bindPasswordFile: setting(Path, 'file with the password of `ldap.bindDn`', { defaultText: 'none' }),
    nameAttribute: setting(Attribute, 'attribute with the name that people log in with', { default: 'uid' }),
    userFilter: setting(Filter, 'filter that finds the entry of the account `{name}`', {
      defaultText: '`(NAMEATTRIBUTE={name})`',
    }),
    userDn: setting(
      Name,
      'entry that an account logs in as, such as `uid={name},ou=people,dc=cluster`, instead of a search',
      { defaultText: 'none: muster searches' },
    ),
    groupBase: setting(Name, 'where the entries of groups are; groups elsewhere do not count', {
      defaultText: '`ldap.base`',
    }),
    groupFilter: setting(Filter, 'filter that finds the groups of the entry `{dn}` of the account `{name}`', {
      default: '(|(member={dn})(uniqueMember={dn})(memberUid={name}))',
    }),
    groupAttribute: setting(Attribute, 'attribute with the name of a group', { default: 'cn' }),
    nested: setting(Switch, 'whether members of a group are members of the groups that this group is in', {
      default: false,
    }),
    timeout: setting(Count, 'seconds that a server has to answer', { default: 5 }),
  }),
  (settings) => {
    const { servers, base, bindDn, bindPasswordFile, userDn, userFilter } = settings;
    const fault = (sentence: string): Fault => new Fault('invalid', sentence);
    if (servers && !base) throw fault('ldap.servers is set but ldap.base is not: say where the entries of people are.');
    if ((bindDn === undefined) !== (bindPasswordFile === undefined))
      throw fault('ldap.bindDn and ldap.bindPasswordFile belong together: set both, or none.');
    if (userDn !== undefined && !userDn.includes('{name}')) throw fault('ldap.userDn has no {name} in it.');
    if (userFilter !== undefined && !userFilter.includes('{name}'))
      throw fault('ldap.userFilter has no {name} in it, so it would find everybody.');
    return settings;
  },
);
export type LdapSettings = ValuesOf<typeof ldapSettings>;
