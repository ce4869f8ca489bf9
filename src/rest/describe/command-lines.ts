import type { Endpoint } from '../endpoints/endpoint.ts';

/** The definitions as `chdef -z` and `mkdef -z` read them. */
const stanzas = (command: 'chdef' | 'mkdef', ...blocks: readonly (readonly [name: string, ...lines: string[]])[]) =>
  [
    `muster ${command} -z <<'EOF'`,
    ...blocks.flatMap(([name, ...lines]) => [`${name}:`, ...lines.map((line) => `    ${line}`)]),
    'EOF',
  ].join('\n');

/** What an endpoint's example is on the command line, by method and path of the endpoint; null where no command does it. */
export const commandLines: Readonly<Record<string, string | null>> = {
  // tokens
  'POST /tokens': 'muster login https://HOST:8443 --user root',
  'GET /tokens': null,
  'DELETE /tokens': 'muster logout',
  'DELETE /tokens/all': null,

  // nodes: definitions and columns
  'GET /nodes': 'muster nodels',
  'PUT /nodes': stanzas(
    'chdef',
    ['n1', 'objtype=node', 'arch=x86_64', 'bmc=127.10.0.1', 'groups=all,compute', 'mgt=ipmi'],
    ['n2', 'objtype=node', 'groups=all,compute', 'mgt=ipmi', 'bmc=127.10.0.2'],
  ),
  'GET /nodes/{noderange}': 'muster lsdef n1',
  'PUT /nodes/{noderange}': 'muster chdef n1 arch=x86_64 bmc=127.10.0.11',
  'POST /nodes/{noderange}': 'muster mkdef n2 groups=all,compute mgt=ipmi bmc=127.10.0.2',
  'DELETE /nodes/{noderange}': 'muster noderm n2',
  'GET /nodes/{noderange}/attrs/{attributes}': 'muster lsdef n1 -i arch',
  'GET /nodes/{noderange}/nodels': 'muster nodels compute',
  'GET /nodes/{noderange}/explain/{attribute}': 'muster explain n1 bmc',
  'PUT /nodes/{noderange}/rename': 'muster chdef -o n1 -n node1',
  'GET /nodes/{noderange}/columns/{columns}': 'muster nodels n1 nodetype.arch nodehm.mgt',
  'PUT /nodes/{noderange}/columns': 'muster nodech n1 nodepos.rack=r5 groups,=spare',
  'POST /nodes/{noderange}/columns': 'muster nodeadd n7-n9 groups=all,compute mgt=ipmi',
  'GET /nodes/{noderange}/tables': 'muster tabgrep n1',
  'PUT /groups/{groupname}/columns': 'muster nodegrpch compute nodepos.rack=r5',

  // nodes: hardware
  'GET /nodes/{noderange}/power': 'muster rpower n1 stat',
  'PUT /nodes/{noderange}/power': 'muster rpower n1 on',
  'GET /nodes/{noderange}/energy': 'muster renergy n1',
  'GET /nodes/{noderange}/energy/{attributes}': 'muster renergy n1 cappingstatus',
  'PUT /nodes/{noderange}/energy': 'muster renergy n1 cappingstatus=on',
  'GET /nodes/{noderange}/sp/{attribute}': 'muster rspconfig n1 ip',
  'PUT /nodes/{noderange}/sp/{attribute}': 'muster rspconfig n1 community=private',
  'GET /nodes/{noderange}/nextboot': 'muster rsetboot n1 stat',
  'PUT /nodes/{noderange}/nextboot': 'muster rsetboot n1 net',
  'GET /nodes/{noderange}/bootorder': 'muster rbootseq n1',
  'PUT /nodes/{noderange}/bootorder': "muster rbootseq n1 'Hard Drive,Network Adapter 1'",
  'GET /nodes/{noderange}/vitals': 'muster rvitals n1',
  'GET /nodes/{noderange}/vitals/{kinds}': 'muster rvitals n1 temp',
  'GET /nodes/{noderange}/inventory': 'muster rinv n1',
  'GET /nodes/{noderange}/inventory/{kinds}': 'muster rinv n1 model',
  'GET /nodes/{noderange}/eventlog': 'muster reventlog n1',
  'DELETE /nodes/{noderange}/eventlog': 'muster reventlog n1 clear',
  'GET /nodes/{noderange}/beacon': 'muster rbeacon n1 stat',
  'PUT /nodes/{noderange}/beacon': 'muster rbeacon n1 on',
  'GET /nodes/{noderange}/subnodes': 'muster rscan chassis1',

  // nodes: boot
  'GET /nodes/{noderange}/bootstate': 'muster nodeset n1 stat',
  'PUT /nodes/{noderange}/bootstate': 'muster nodeset n1 boot',
  'GET /nodes/{noderange}/boot': null,
  'GET /nodes/{noderange}/answers': null,
  'POST /nodes/{noderange}/provision': 'muster rinstall n1 osimage=rocky9-x86_64-netboot-compute --wait',
  'PUT /nodes/{noderange}/provision': 'muster rinstall n1 osimage=rocky9-x86_64-netboot-compute',

  // discovery
  'GET /discovery': 'muster nodediscoverls',
  'POST /discovery': 'muster nodediscoverstart noderange=compute',
  'DELETE /discovery': '# Closes every open range.\nmuster nodediscoverstop',
  'GET /services/bmcdiscover/{search}': 'muster bmcdiscover --range 127.10.0.1-127.10.0.20 -u admin -p PASSWORD',
  'GET /services/bmcdiscover/{search}/{rest}': 'muster bmcdiscover --range 127.10.0.0/28 -u admin -p PASSWORD',
  'GET /services/checkbmcauth/{address}/{account}': 'muster bmcdiscover -i 127.10.0.1 -u admin -p PASSWORD -c',
  'GET /services/slpnodes': 'muster lsslp',
  'GET /services/slpnodes/{type}': 'muster lsslp -s CMM',

  // nodes: virtual machines
  'POST /nodes/{noderange}/vm': 'muster mkvm n1 --cpus 2 --mem 4096 -s 10,20',
  'PUT /nodes/{noderange}/vm': 'muster chvm n1 --mem 2048 -a 10',
  'DELETE /nodes/{noderange}/vm': 'muster rmvm n1 -p',
  'POST /nodes/{noderange}/vmclone': 'muster clonevm n1 -t gold',
  'POST /nodes/{noderange}/vmmigrate': 'muster rmigrate n1 hv2',
  'GET /nodes/{noderange}/snapshots': null,
  'POST /nodes/{noderange}/snapshots': null,
  'DELETE /nodes/{noderange}/snapshots': null,
  'GET /nodes/{noderange}/snapshots/{snapshot}': null,
  'PUT /nodes/{noderange}/snapshots/{snapshot}': null,
  'DELETE /nodes/{noderange}/snapshots/{snapshot}': null,

  // nodes: themselves
  'GET /nodes/{noderange}/nodestat': 'muster nodestat n1',
  'PUT /nodes/{noderange}/nodestat': 'muster nodestat n1 -p -u',
  'POST /nodes/{noderange}/nodeshell': `muster xdsh n1,n2 "export LANG=C; uname -r; echo 'two  blanks'"`,
  'POST /nodes/{noderange}/nodecopy': 'muster xdcp n1,n2 /install/custom/motd /etc/',
  'GET /services/sshkey': '# On the management node.\nmuster sshkey',
  'POST /nodes/{noderange}/updating': 'muster updatenode n1,n2',
  'POST /nodes/{noderange}/filesyncing': 'muster updatenode n1,n2 -F',
  'POST /nodes/{noderange}/sw': 'muster updatenode n1 -S',
  'POST /nodes/{noderange}/postscript': 'muster updatenode n1 -P hello',

  // names and addresses
  'POST /nodes/{noderange}/host': 'muster makehosts n1 -l',
  'DELETE /nodes/{noderange}/host': 'muster makehosts n1 -d',
  'POST /services/host': 'muster makehosts',
  'POST /nodes/{noderange}/dns': 'muster makedns n1',
  'DELETE /nodes/{noderange}/dns': 'muster makedns n1 -d',
  'POST /services/dns': 'muster makedns -n',
  'POST /nodes/{noderange}/dhcp': 'muster makedhcp n1,n2',
  'DELETE /nodes/{noderange}/dhcp': 'muster makedhcp n1 -d',
  'POST /services/dhcp': 'muster makedhcp -n',
  'GET /services/dhcp/leases': null,
  'POST /networks': 'muster makenetworks domain=cluster.example',
  'GET /localres/adapters': null,

  // osimages
  'GET /osimages': 'muster lsdef -t osimage',
  'PUT /osimages': stanzas(
    'chdef',
    [
      'debian12-x86_64-install-compute',
      'objtype=osimage',
      'imagetype=linux',
      'osarch=x86_64',
      'osname=Linux',
      'osvers=debian12',
      'profile=compute',
      'provmethod=install',
    ],
    [
      'rocky9-x86_64-netboot-compute',
      'objtype=osimage',
      'imagetype=linux',
      'osarch=x86_64',
      'osname=Linux',
      'osvers=rocky9.2',
      'profile=compute',
      'provmethod=netboot',
    ],
  ),
  'GET /osimages/{imgname}': 'muster lsdef -t osimage -o debian12-x86_64-install-compute',
  'PUT /osimages/{imgname}':
    'muster chdef -t osimage -o debian12-x86_64-install-compute \\\n  pkglist=/srv/muster/compute.pkglist',
  'POST /osimages/{imgname}':
    'muster mkdef -t osimage -o rocky9-x86_64-netboot-compute \\\n  imagetype=linux osarch=x86_64 osname=Linux osvers=rocky9.2 \\\n  profile=compute provmethod=netboot',
  'DELETE /osimages/{imgname}': 'muster rmdef -t osimage -o rocky9-x86_64-netboot-compute',
  'GET /osimages/{imgname}/attrs/{attributes}':
    'muster lsdef -t osimage -o debian12-x86_64-install-compute -i imagetype',
  'POST /osimages': 'muster copycds -n rocky9.6 /install/iso/Rocky-9.6-x86_64-dvd.iso',
  'POST /osimages/{imgname}/instance': 'muster packimage rocky9-x86_64-netboot-compute -c xz',
  'GET /osimages/{imgname}/instance': 'muster lsimage rocky9-x86_64-netboot-compute',
  'DELETE /osimages/{imgname}/instance': 'muster rmimage rocky9-x86_64-netboot-compute',

  // networks
  'GET /networks': 'muster lsdef -t network',
  'PUT /networks': stanzas(
    'chdef',
    ['management', 'objtype=network', 'gateway=10.1.255.254', 'mask=255.255.0.0', 'mgtifname=eth0', 'net=10.1.0.0'],
    ['service', 'objtype=network', 'net=10.2.0.0', 'mask=255.255.0.0'],
  ),
  'GET /networks/{netname}': 'muster lsdef -t network -o management',
  'PUT /networks/{netname}': 'muster chdef -t network -o management gateway=10.1.0.254',
  'POST /networks/{netname}': 'muster mkdef -t network -o service net=10.2.0.0 mask=255.255.0.0',
  'DELETE /networks/{netname}': 'muster rmdef -t network -o service',
  'GET /networks/{netname}/attrs/{attributes}': 'muster lsdef -t network -o management -i gateway',

  // policy
  'GET /policy/explain': "muster explain --user operator --command chdef n1 \\\n  --line '-t node -o n1 bmc=10.1.0.1'",
  'GET /policy': 'muster lsdef -t policy',
  'PUT /policy': stanzas(
    'chdef',
    ['1', 'objtype=policy', 'name=root', 'rule=allow'],
    ['6.1', 'objtype=policy', 'name=operator', 'commands=lsdef,nodels', 'rule=allow'],
  ),
  'GET /policy/{policy_priority}': 'muster lsdef -t policy -o 1',
  'PUT /policy/{policy_priority}': "muster chdef -t policy -o 1 usercomment='the administrator'",
  'POST /policy/{policy_priority}': 'muster chdef -t policy -o 6.1 name=operator commands=lsdef,nodels rule=allow',
  'DELETE /policy/{policy_priority}': 'muster rmdef -t policy -o 6.1',
  'GET /policy/{policy_priority}/attrs/{attributes}': 'muster lsdef -t policy -o 1 -i name',

  // groups
  'GET /groups': 'muster lsdef -t group',
  'PUT /groups': stanzas(
    'chdef',
    ['compute', 'objtype=group', 'members=n1,n2', 'mgt=ipmi'],
    ['ipminodes', 'objtype=group', 'grouptype=dynamic', 'wherevals=mgt==ipmi'],
  ),
  'GET /groups/{groupname}': 'muster lsdef -t group -o compute',
  'PUT /groups/{groupname}': 'muster chdef -t group -o compute members=n1,n2 netboot=xnba',
  'POST /groups/{groupname}': 'muster mkdef -t group -o ipminodes -d -w mgt==ipmi',
  'DELETE /groups/{groupname}': 'muster rmdef -t group -o ipminodes',
  'GET /groups/{groupname}/attrs/{attributes}': 'muster lsdef -t group -o compute -i members',

  // the site
  'GET /globalconf': 'muster lsdef -t site -l',
  'GET /globalconf/attrs/{attributes}': 'muster lsdef -t site -i domain',
  'PUT /globalconf/attrs/{attributes}': 'muster chdef -t site domain=cluster.example',
  'DELETE /globalconf/attrs/{attributes}': 'muster chdef -t site domain=',

  // definitions of any type
  'GET /definitions': null,
  'GET /definitions/{objtype}': 'muster lsdef -t node',
  'GET /definitions/{objtype}/{names}': 'muster lsdef -t node -o n1',
  'GET /definitions/{objtype}/{names}/attrs/{attributes}': 'muster lsdef -t node -o n1 -i mgt',
  'PUT /definitions/{objtype}/{names}/rename': 'muster chdef -t network -o service -n backbone',
  'POST /definitions': stanzas(
    'mkdef',
    ['n11-n13', 'objtype=node', 'groups=all,compute'],
    ['storage', 'objtype=network', 'net=10.3.0.0', 'mask=255.255.0.0'],
  ),
  'PUT /definitions': 'muster chdef n1 rack=r1',
  'DELETE /definitions': 'muster rmdef n2',
  'GET /templates/node': 'muster lsdef --template switch-template',
  'GET /templates/node/all': 'muster lsdef --template',
  'GET /attributes': null,
  'GET /attributes/{objtype}': 'muster lsdef -h -t node',

  // tables
  'GET /tables': 'muster tabdump',
  'GET /tables/{tablelist}/dump': 'muster tabdump routes',
  'PUT /tables/{tablelist}/dump': [
    "cat > routes.csv <<'EOF'",
    '#routename,net,mask,gateway,ifname,comments,disable',
    '"lab","10.9.0.0","255.255.0.0","10.1.0.254",,,',
    'EOF',
    'muster tabrestore routes.csv',
  ].join('\n'),
  'GET /tables/{tablelist}/nodes/ALLNODES': 'muster nodels all nodetype',
  'GET /tables/{tablelist}/nodes/ALLNODES/{attrlist}': 'muster nodels all nodetype.arch',
  'GET /tables/{tablelist}/nodes/{noderange}': 'muster nodels n1 nodetype',
  'GET /tables/{tablelist}/nodes/{noderange}/{attrlist}': 'muster nodels n1 nodetype.arch',
  'PUT /tables/{tablelist}/nodes/{noderange}': 'muster nodech n1 nodetype.arch=x86_64 noderes.netboot=xnba',
  'GET /tables/{tablelist}/rows/ALLROWS': 'muster tabdump routes',
  'GET /tables/{tablelist}/rows/ALLROWS/{attrlist}': '# Shows all columns.\nmuster tabdump routes',
  'GET /tables/{tablelist}/rows': 'muster tabdump routes',
  'GET /tables/{tablelist}/rows/{keys}': 'muster tabdump -w routename==lab routes',
  'GET /tables/{tablelist}/rows/{keys}/{attrlist}':
    'muster gettab routename=lab \\\n  routes.routename routes.net routes.mask routes.gateway',
  'PUT /tables/{tablelist}/rows/{keys}':
    'muster chtab routename=lab \\\n  routes.net=10.9.0.0 routes.mask=255.255.0.0 routes.gateway=10.1.0.254',
  'DELETE /tables/{tablelist}/rows/{keys}': 'muster chtab -d routename=lab routes',

  // history, runs and events
  'GET /changes': 'muster changes n1 --limit 1',
  'GET /changes/diff': 'muster changes diff 0 2 n1',
  'GET /changes/{change}': 'muster changes show 2',
  'POST /changes/{change}/revert': 'muster undo 2',
  'GET /runs': 'muster runs --state running',
  'GET /runs/{id}': 'muster runs show 0b1ef7f5-6a6c-4c0e-9a51-1f7d7f1c5c11',
  'DELETE /runs/{id}': 'muster runs cancel 0b1ef7f5-6a6c-4c0e-9a51-1f7d7f1c5c11',
  'GET /events': 'muster events --seconds 1',
  'GET /metrics': null,
  'GET /sd': null,
};

export const rowName = ({ method, path }: Pick<Endpoint, 'method' | 'path'>): string => `${method} ${path}`;
