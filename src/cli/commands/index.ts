import type { CommandEntry } from '../command.ts';

/** Every command by its name. A file is loaded only when one of its commands is called, so that each starts as fast as if it were alone. */
export const commands: Readonly<Record<string, CommandEntry>> = {
  // Definitions.
  lsdef: { summary: 'List definitions', load: async () => (await import('./lsdef.ts')).lsdef },
  mkdef: { summary: 'Make definitions', load: async () => (await import('./mkdef.ts')).mkdef },
  chdef: { summary: 'Change definitions', load: async () => (await import('./chdef.ts')).chdef },
  rmdef: { summary: 'Remove definitions', load: async () => (await import('./rmdef.ts')).rmdef },
  nodels: { summary: 'List nodes, with columns of tables', load: async () => (await import('./nodels.ts')).nodels },
  nodeadd: { summary: 'Make nodes', load: async () => (await import('./node-columns.ts')).nodeadd },
  nodech: { summary: 'Change columns of nodes', load: async () => (await import('./node-columns.ts')).nodech },
  nodegrpch: { summary: 'Change columns of groups', load: async () => (await import('./node-columns.ts')).nodegrpch },
  noderm: { summary: 'Remove nodes', load: async () => (await import('./node-columns.ts')).noderm },
  nodepurge: { summary: 'Remove nodes', load: async () => (await import('./node-columns.ts')).nodepurge },
  // Tables.
  tabdump: { summary: 'Show tables', load: async () => (await import('./tabdump.ts')).tabdump },
  tabedit: { summary: 'Edit a table', load: async () => (await import('./tabedit.ts')).tabedit },
  tabrestore: { summary: 'Replace a table by a file', load: async () => (await import('./tabedit.ts')).tabrestore },
  tabprune: { summary: 'Remove the rows of a table', load: async () => (await import('./tabedit.ts')).tabprune },
  tabgrep: {
    summary: 'List the tables that have rows of given nodes',
    load: async () => (await import('./chtab.ts')).tabgrep,
  },
  tabch: { summary: 'Change rows of tables', load: async () => (await import('./chtab.ts')).tabch },
  chtab: { summary: 'Change rows of tables', load: async () => (await import('./chtab.ts')).chtab },
  gettab: { summary: 'Show columns of a row', load: async () => (await import('./chtab.ts')).gettab },
  dumpxCATdb: { summary: 'Write all tables to files', load: async () => (await import('./dump.ts')).dumpxCATdb },
  restorexCATdb: {
    summary: 'Replace all tables by files',
    load: async () => (await import('./dump.ts')).restorexCATdb,
  },
  lskit: { summary: 'List software kits', load: async () => (await import('./server.ts')).lskit },
  lsxcatd: {
    summary: 'Show the version and state of the server',
    load: async () => (await import('./server.ts')).lsxcatd,
  },
  // The hardware of nodes.
  rpower: {
    summary: 'Switch nodes on and off, or show their power state',
    load: async () => (await import('./power.ts')).rpower,
  },
  rbeacon: {
    summary: 'Switch the identification light of machines',
    load: async () => (await import('./power.ts')).rbeacon,
  },
  rsetboot: { summary: 'Set what nodes boot from next', load: async () => (await import('./power.ts')).rsetboot },
  rbootseq: { summary: 'Set the boot order of nodes', load: async () => (await import('./power.ts')).rbootseq },
  renergy: { summary: 'Show and limit power consumption', load: async () => (await import('./power.ts')).renergy },
  rvitals: {
    summary: 'Show sensors: temperatures, fans, voltages',
    load: async () => (await import('./readings.ts')).rvitals,
  },
  rinv: { summary: 'Show the hardware inventory', load: async () => (await import('./readings.ts')).rinv },
  reventlog: {
    summary: 'Show or clear event logs of the hardware',
    load: async () => (await import('./readings.ts')).reventlog,
  },
  rspconfig: {
    summary: 'Show and change settings of BMCs',
    load: async () => (await import('./rspconfig.ts')).rspconfig,
  },
  rscan: { summary: 'List what a chassis contains', load: async () => (await import('./discovery.ts')).rscan },
  bmcdiscover: {
    summary: 'Find BMCs in a range of addresses',
    load: async () => (await import('./discovery.ts')).bmcdiscover,
  },
  lsslp: {
    summary: 'Find devices that announce themselves by SLP or SSDP',
    load: async () => (await import('./discovery.ts')).lsslp,
  },
  rcons: { summary: 'Consoles of nodes; not here yet', load: async () => (await import('./not-offered.ts')).rcons },
  rflash: { summary: 'Firmware of nodes; not here', load: async () => (await import('./not-offered.ts')).rflash },
  getmacs: {
    summary: 'MAC addresses of nodes; not here',
    load: async () => (await import('./not-offered.ts')).getmacs,
  },
  rshutdown: {
    summary: 'Shut hypervisors down; not here',
    load: async () => (await import('./not-offered.ts')).rshutdown,
  },
  // Images, booting from the network and virtual machines.
  copycds: { summary: 'Copy install media', load: async () => (await import('./images.ts')).copycds },
  genimage: { summary: 'Build the root of a diskless image', load: async () => (await import('./images.ts')).genimage },
  packimage: { summary: 'Pack an image for nodes to fetch', load: async () => (await import('./images.ts')).packimage },
  liteimg: { summary: 'Pack a statelite image', load: async () => (await import('./images.ts')).liteimg },
  imgexport: { summary: 'Write an image to a bundle file', load: async () => (await import('./images.ts')).imgexport },
  imgimport: { summary: 'Make an image from a bundle file', load: async () => (await import('./images.ts')).imgimport },
  lsimage: { summary: 'Show what is built of an image', load: async () => (await import('./images.ts')).lsimage },
  rmimage: { summary: 'Remove what is built of an image', load: async () => (await import('./images.ts')).rmimage },
  nodeset: { summary: 'Set what nodes boot from the network', load: async () => (await import('./boot.ts')).nodeset },
  rinstall: {
    summary: 'Boot nodes from the network with an image',
    load: async () => (await import('./boot.ts')).rinstall,
  },
  rnetboot: {
    summary: 'Boot nodes from the network; not here',
    load: async () => (await import('./not-offered.ts')).rnetboot,
  },
  nodediscoverls: {
    summary: 'List machines that booted and are not a node yet',
    load: async () => (await import('./discovery.ts')).nodediscoverls,
  },
  nodediscoverstart: {
    summary: 'Let unknown machines become nodes',
    load: async () => (await import('./discovery.ts')).nodediscoverstart,
  },
  nodediscoverstatus: {
    summary: 'Show whether unknown machines become nodes',
    load: async () => (await import('./discovery.ts')).nodediscoverstatus,
  },
  nodediscoverstop: {
    summary: 'Stop what nodediscoverstart began',
    load: async () => (await import('./discovery.ts')).nodediscoverstop,
  },
  mkvm: { summary: 'Make virtual machines', load: async () => (await import('./vm.ts')).mkvm },
  chvm: { summary: 'Change virtual machines', load: async () => (await import('./vm.ts')).chvm },
  clonevm: {
    summary: 'Make masters and copies of virtual machines',
    load: async () => (await import('./vm.ts')).clonevm,
  },
  rmvm: { summary: 'Remove virtual machines', load: async () => (await import('./vm.ts')).rmvm },
  rmigrate: { summary: 'Move virtual machines', load: async () => (await import('./vm.ts')).rmigrate },
  lsvm: { summary: 'List virtual machines', load: async () => (await import('./vm.ts')).lsvm },
  // Nodes themselves.
  xdsh: { summary: 'Run commands on nodes', load: async () => (await import('./xdsh.ts')).xdsh },
  xdcp: { summary: 'Copy files to nodes', load: async () => (await import('./xdcp.ts')).xdcp },
  psh: { summary: 'Run commands on nodes', load: async () => (await import('./psh.ts')).psh },
  pscp: { summary: 'Copy files to nodes', load: async () => (await import('./psh.ts')).pscp },
  prsync: { summary: 'Copy files to nodes', load: async () => (await import('./psh.ts')).prsync },
  xcoll: {
    summary: 'Fold equal output of nodes (a filter)',
    load: async () => (await import('./fold-lines.ts')).xcoll,
  },
  xdshbak: {
    summary: 'Print output under the names of nodes (a filter)',
    load: async () => (await import('./fold-lines.ts')).xdshbak,
  },
  updatenode: {
    summary: 'Bring files, packages and scripts of nodes up to date',
    load: async () => (await import('./updatenode.ts')).updatenode,
  },
  nodestat: {
    summary: 'Show which nodes and services answer',
    load: async () => (await import('./ping.ts')).nodestat,
  },
  pping: { summary: 'Show which nodes answer', load: async () => (await import('./ping.ts')).pping },
  ppping: { summary: 'Show which nodes reach each other', load: async () => (await import('./ping.ts')).ppping },
  makeknownhosts: {
    summary: 'Write host keys of nodes for ssh',
    load: async () => (await import('./makeknownhosts.ts')).makeknownhosts,
  },
  // Names, addresses and networks.
  makedhcp: {
    summary: 'Set up DHCP and reserve addresses',
    load: async () => (await import('./services.ts')).makedhcp,
  },
  makedns: { summary: 'Set up DNS and its records', load: async () => (await import('./services.ts')).makedns },
  makehosts: { summary: 'Write the hosts file', load: async () => (await import('./services.ts')).makehosts },
  makenetworks: {
    summary: 'Define the networks of the management node',
    load: async () => (await import('./services.ts')).makenetworks,
  },
  makeroutes: { summary: 'Routes; not here', load: async () => (await import('./services.ts')).makeroutes },
  // What xCAT does not have.
  apply: {
    isMuster: true,
    summary: 'Make definitions match a file',
    load: async () => (await import('./apply.ts')).apply,
  },
  changes: {
    isMuster: true,
    summary: 'Show what was changed',
    load: async () => (await import('./changes.ts')).changes,
  },
  clustershell: {
    isMuster: true,
    summary: 'Print a group source for ClusterShell',
    load: async () => (await import('./integrations.ts')).clustershell,
  },
  completion: {
    isMuster: true,
    summary: 'Print a script that completes commands in a shell',
    load: async () => (await import('./completion.ts')).completion,
  },
  contexts: {
    isMuster: true,
    summary: 'List the servers you logged in to, or choose one',
    load: async () => (await import('./login.ts')).contexts,
  },
  doctor: {
    isMuster: true,
    summary: 'Check the server, the connection and the login',
    load: async () => (await import('./doctor.ts')).doctor,
  },
  edit: { isMuster: true, summary: 'Edit definitions', load: async () => (await import('./apply.ts')).edit },
  events: {
    isMuster: true,
    summary: 'Show events as they happen',
    load: async () => (await import('./events.ts')).events,
  },
  explain: {
    isMuster: true,
    summary: 'Show where a value comes from, or why a command is allowed',
    load: async () => (await import('./explain.ts')).explain,
  },
  export: {
    isMuster: true,
    summary: 'Write definitions for apply, with --format',
    load: async () => (await import('./apply.ts')).exportDefinitions,
  },
  genders: {
    isMuster: true,
    summary: 'Print a genders file',
    load: async () => (await import('./integrations.ts')).genders,
  },
  groups: {
    isMuster: true,
    summary: 'List groups, or the groups of nodes',
    load: async () => (await import('./integrations.ts')).groupsCommand,
  },
  help: { isMuster: true, summary: 'List all commands', load: async () => (await import('./help.ts')).help },
  inventory: {
    isMuster: true,
    summary: 'Print an inventory for Ansible',
    load: async () => (await import('./integrations.ts')).inventory,
  },
  links: {
    isMuster: true,
    summary: 'Make links with the names of the commands',
    load: async () => (await import('./help.ts')).links,
  },
  login: { isMuster: true, summary: 'Log in to a server', load: async () => (await import('./login.ts')).login },
  logout: { isMuster: true, summary: 'End a login', load: async () => (await import('./login.ts')).logout },
  manpages: {
    isMuster: true,
    summary: 'Write manual pages',
    load: async () => (await import('./help.ts')).manpages,
  },
  runs: {
    isMuster: true,
    summary: 'List, show, follow and cancel runs',
    load: async () => (await import('./runs.ts')).runs,
  },
  slurm: {
    isMuster: true,
    summary: 'Print nodes and partitions for Slurm',
    load: async () => (await import('./integrations.ts')).slurm,
  },
  undo: { isMuster: true, summary: 'Take back a change', load: async () => (await import('./changes.ts')).undo },
  // What muster does not need.
  chzone: {
    summary: 'Not here; says what to use instead',
    load: async () => (await import('./not-offered.ts')).chzone,
  },
  makeconservercf: {
    summary: 'Not here; says what to use instead',
    load: async () => (await import('./not-offered.ts')).makeconservercf,
  },
  makegocons: {
    summary: 'Not here; says what to use instead',
    load: async () => (await import('./not-offered.ts')).makegocons,
  },
  makentp: {
    summary: 'Not here; says what to use instead',
    load: async () => (await import('./not-offered.ts')).makentp,
  },
  mkzone: {
    summary: 'Not here; says what to use instead',
    load: async () => (await import('./not-offered.ts')).mkzone,
  },
  monls: { summary: 'Not here; says what to use instead', load: async () => (await import('./not-offered.ts')).monls },
  nodediscoverdef: {
    summary: 'Not here; says what to use instead',
    load: async () => (await import('./not-offered.ts')).nodediscoverdef,
  },
  nodeimport: {
    summary: 'Not here; says what to use instead',
    load: async () => (await import('./not-offered.ts')).nodeimport,
  },
  regnotif: {
    summary: 'Not here; says what to use instead',
    load: async () => (await import('./not-offered.ts')).regnotif,
  },
  rmzone: {
    summary: 'Not here; says what to use instead',
    load: async () => (await import('./not-offered.ts')).rmzone,
  },
  swapnodes: {
    summary: 'Not here; says what to use instead',
    load: async () => (await import('./not-offered.ts')).swapnodes,
  },
  switchdiscover: {
    summary: 'Not here; says what to use instead',
    load: async () => (await import('./not-offered.ts')).switchdiscover,
  },
  winstall: {
    summary: 'Not here; says what to use instead',
    load: async () => (await import('./not-offered.ts')).winstall,
  },
};
