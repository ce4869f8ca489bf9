import type { Rows } from './reset.ts';

const image = { imagetype: 'linux', osarch: 'x86_64', osname: 'Linux', profile: 'compute' };

/** The rows behind the objects that the endpoints' examples name. */
export const exampleRows: Rows = {
  nodelist: ['n1', 'n2'].map((node) => ({ node, groups: 'all,compute' })),
  discoveryrange: [{ noderange: 'compute', method: 'order', opened: '2026-05-04T12:00:00.000Z', openedby: 'root' }],
  nodehm: [{ node: 'compute', mgt: 'ipmi' }],
  ipmi: [{ node: 'compute', bmc: '|\\D+(\\d+)$|10.1.0.($1)|' }],
  noderes: [{ node: 'compute', netboot: 'xnba' }],
  nodetype: [{ node: 'n1', arch: 'x86_64' }],
  nodegroup: [
    { groupname: 'compute', grouptype: 'static', members: 'static' },
    { groupname: 'ipminodes', grouptype: 'dynamic', members: 'dynamic', wherevals: 'mgt==ipmi' },
  ],
  osimage: [
    { imagename: 'debian12-x86_64-install-compute', osvers: 'debian12', provmethod: 'install', ...image },
    { imagename: 'rocky9-x86_64-netboot-compute', osvers: 'rocky9.2', provmethod: 'netboot', ...image },
  ],
  networks: [
    { netname: 'management', net: '10.1.0.0', mask: '255.255.0.0', gateway: '10.1.255.254', mgtifname: 'eth0' },
    { netname: 'service', net: '10.2.0.0', mask: '255.255.0.0' },
  ],
  passwd: [
    { key: 'xcat', username: 'root' },
    { key: 'xcat', username: 'operator', password: 'operates' },
  ],
  policy: [
    { priority: '1', name: 'root', rule: 'allow' },
    { priority: '6.1', name: 'operator', commands: 'lsdef,nodels', rule: 'allow' },
  ],
  powerbudget: [{ name: 'rack1', noderange: 'n1', watts: '12000' }],
  routes: [{ routename: 'lab', net: '10.9.0.0', mask: '255.255.0.0', gateway: '10.1.0.254' }],
  site: [
    { key: 'domain', value: 'cluster.example' },
    { key: 'master', value: '10.1.0.250' },
  ],
};
