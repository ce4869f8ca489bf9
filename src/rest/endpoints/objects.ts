import type { Endpoint } from '../endpoint.ts';
import { definitionRows } from './definitions.ts';

export const osimages: Endpoint[] = definitionRows({
  type: 'osimage',
  collection: 'osimages',
  segment: 'imgname',
  plural: 'operating system images',
  name: 'debian12-x86_64-install-compute',
  example: {
    imagetype: 'linux',
    osarch: 'x86_64',
    osname: 'Linux',
    osvers: 'debian12',
    profile: 'compute',
    provmethod: 'install',
  },
  newName: 'rocky9-x86_64-netboot-compute',
  newExample: {
    imagetype: 'linux',
    osarch: 'x86_64',
    osname: 'Linux',
    osvers: 'rocky9.2',
    profile: 'compute',
    provmethod: 'netboot',
  },
  changeExample: { pkglist: '/srv/muster/compute.pkglist' },
});

export const networks: Endpoint[] = definitionRows({
  type: 'network',
  collection: 'networks',
  segment: 'netname',
  plural: 'networks',
  name: 'management',
  example: { gateway: '10.1.255.254', mask: '255.255.0.0', mgtifname: 'eth0', net: '10.1.0.0' },
  newName: 'service',
  newExample: { net: '10.2.0.0', mask: '255.255.0.0' },
  changeExample: { gateway: '10.1.0.254' },
});

export const policy: Endpoint[] = definitionRows({
  type: 'policy',
  collection: 'policy',
  segment: 'policy_priority',
  plural: 'policy rules',
  name: '1',
  example: { name: 'root', rule: 'allow' },
  newName: '6.1',
  newExample: { name: 'operator', commands: 'lsdef,nodels', rule: 'allow' },
  changeExample: { usercomment: 'the administrator' },
  postChanges: true,
});

export const groups: Endpoint[] = definitionRows({
  type: 'group',
  collection: 'groups',
  segment: 'groupname',
  plural: 'groups',
  name: 'compute',
  example: { members: 'n1,n2', mgt: 'ipmi' },
  newName: 'ipminodes',
  newExample: { grouptype: 'dynamic', wherevals: 'mgt==ipmi' },
  changeExample: { members: 'n1,n2', netboot: 'xnba' },
  createOnlyAtMuster: true,
});
