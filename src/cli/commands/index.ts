import type { CommandEntry } from '../command.ts';

/** Every command by its name. A file is loaded only when one of its commands is called, so that each starts as fast as if it were alone. */
export const commands: Readonly<Record<string, CommandEntry>> = {
  // Definitions.
  lsdef: { summary: 'List definitions', load: async () => (await import('./lsdef.ts')).lsdef },
  mkdef: { summary: 'Make definitions', load: async () => (await import('./mkdef.ts')).mkdef },
  chdef: { summary: 'Change definitions', load: async () => (await import('./chdef.ts')).chdef },
  rmdef: { summary: 'Remove definitions', load: async () => (await import('./rmdef.ts')).rmdef },
  nodels: { summary: 'List nodes and columns of tables', load: async () => (await import('./nodels.ts')).nodels },
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
    summary: 'List the tables that have rows of nodes',
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
  lsxcatd: { summary: 'Show what the server is', load: async () => (await import('./server.ts')).lsxcatd },
  // The hardware of nodes.
  rpower: { summary: 'Power of nodes', load: async () => (await import('./power.ts')).rpower },
  rbeacon: {
    summary: 'Switch the light that identifies a machine',
    load: async () => (await import('./power.ts')).rbeacon,
  },
  rsetboot: { summary: 'What nodes boot from next', load: async () => (await import('./power.ts')).rsetboot },
  rbootseq: { summary: 'What nodes try to boot from', load: async () => (await import('./power.ts')).rbootseq },
  renergy: { summary: 'Power consumption and its limits', load: async () => (await import('./power.ts')).renergy },
  rvitals: { summary: 'Sensors of nodes', load: async () => (await import('./readings.ts')).rvitals },
  rinv: { summary: 'What the hardware is', load: async () => (await import('./readings.ts')).rinv },
  reventlog: { summary: 'Event logs of the hardware', load: async () => (await import('./readings.ts')).reventlog },
  rspconfig: { summary: 'Settings of BMCs', load: async () => (await import('./rspconfig.ts')).rspconfig },
  rscan: { summary: 'What is behind a chassis', load: async () => (await import('./discovery.ts')).rscan },
  bmcdiscover: { summary: 'Find BMCs', load: async () => (await import('./discovery.ts')).bmcdiscover },
  lsslp: { summary: 'Find devices that announce themselves', load: async () => (await import('./discovery.ts')).lsslp },
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
  genimage: { summary: 'Build an image', load: async () => (await import('./images.ts')).genimage },
  packimage: { summary: 'Pack an image', load: async () => (await import('./images.ts')).packimage },
  liteimg: { summary: 'Pack a statelite image', load: async () => (await import('./images.ts')).liteimg },
  imgexport: { summary: 'Write an image into a file', load: async () => (await import('./images.ts')).imgexport },
  imgimport: { summary: 'Make an image from a file', load: async () => (await import('./images.ts')).imgimport },
  lsimage: { summary: 'What is built of images', load: async () => (await import('./images.ts')).lsimage },
  rmimage: { summary: 'Remove what is built of an image', load: async () => (await import('./images.ts')).rmimage },
  nodeset: { summary: 'What nodes boot from the network', load: async () => (await import('./boot.ts')).nodeset },
  rinstall: { summary: 'Boot nodes with an image', load: async () => (await import('./boot.ts')).rinstall },
  rnetboot: {
    summary: 'Boot nodes from the network; not here',
    load: async () => (await import('./not-offered.ts')).rnetboot,
  },
  nodediscoverls: {
    summary: 'Machines that have booted and are no node',
    load: async () => (await import('./discovery.ts')).nodediscoverls,
  },
  nodediscoverstart: {
    summary: 'Let new machines become nodes',
    load: async () => (await import('./discovery.ts')).nodediscoverstart,
  },
  nodediscoverstatus: {
    summary: 'Whether new machines become nodes',
    load: async () => (await import('./discovery.ts')).nodediscoverstatus,
  },
  nodediscoverstop: {
    summary: 'End nodediscoverstart',
    load: async () => (await import('./discovery.ts')).nodediscoverstop,
  },
  mkvm: { summary: 'Make virtual machines', load: async () => (await import('./vm.ts')).mkvm },
  chvm: { summary: 'Change virtual machines', load: async () => (await import('./vm.ts')).chvm },
  clonevm: { summary: 'Masters and copies of virtual machines', load: async () => (await import('./vm.ts')).clonevm },
  rmvm: { summary: 'Remove virtual machines', load: async () => (await import('./vm.ts')).rmvm },
  rmigrate: { summary: 'Move virtual machines', load: async () => (await import('./vm.ts')).rmigrate },
  lsvm: { summary: 'List virtual machines', load: async () => (await import('./vm.ts')).lsvm },
  // Nodes themselves.
  xdsh: { summary: 'Run commands on nodes', load: async () => (await import('./xdsh.ts')).xdsh },
  xdcp: { summary: 'Copy files to nodes', load: async () => (await import('./xdcp.ts')).xdcp },
  psh: { summary: 'Run commands on nodes', load: async () => (await import('./psh.ts')).psh },
  pscp: { summary: 'Copy files to nodes', load: async () => (await import('./psh.ts')).pscp },
  prsync: { summary: 'Copy files to nodes', load: async () => (await import('./psh.ts')).prsync },
  xcoll: { summary: 'Fold equal output of nodes', load: async () => (await import('./fold-lines.ts')).xcoll },
  xdshbak: {
    summary: 'Show output below the names of nodes',
    load: async () => (await import('./fold-lines.ts')).xdshbak,
  },
  updatenode: { summary: 'Bring nodes up to date', load: async () => (await import('./updatenode.ts')).updatenode },
  nodestat: {
    summary: 'Whether nodes answer, and what runs there',
    load: async () => (await import('./ping.ts')).nodestat,
  },
  pping: { summary: 'Whether nodes answer', load: async () => (await import('./ping.ts')).pping },
  ppping: { summary: 'Whether nodes reach each other', load: async () => (await import('./ping.ts')).ppping },
  makeknownhosts: {
    summary: 'Host keys of nodes for ssh',
    load: async () => (await import('./makeknownhosts.ts')).makeknownhosts,
  },
  // Names, addresses and networks.
  makedhcp: { summary: 'Serve and reserve addresses', load: async () => (await import('./services.ts')).makedhcp },
  makedns: { summary: 'Names in DNS', load: async () => (await import('./services.ts')).makedns },
  makehosts: { summary: 'The hosts file', load: async () => (await import('./services.ts')).makehosts },
  makenetworks: {
    summary: 'Define the networks of this machine',
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
    summary: 'Groups for ClusterShell',
    load: async () => (await import('./integrations.ts')).clustershell,
  },
  completion: {
    isMuster: true,
    summary: 'Print a script that completes commands in a shell',
    load: async () => (await import('./completion.ts')).completion,
  },
  contexts: {
    isMuster: true,
    summary: 'List the servers that were logged in to, or choose one',
    load: async () => (await import('./login.ts')).contexts,
  },
  doctor: {
    isMuster: true,
    summary: 'Check whether this client can work',
    load: async () => (await import('./doctor.ts')).doctor,
  },
  edit: { isMuster: true, summary: 'Edit definitions', load: async () => (await import('./apply.ts')).edit },
  events: {
    isMuster: true,
    summary: 'Show what happens, as it happens',
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
  genders: { isMuster: true, summary: 'A genders file', load: async () => (await import('./integrations.ts')).genders },
  groups: {
    isMuster: true,
    summary: 'Groups of nodes',
    load: async () => (await import('./integrations.ts')).groupsCommand,
  },
  help: { isMuster: true, summary: 'List all commands', load: async () => (await import('./help.ts')).help },
  inventory: {
    isMuster: true,
    summary: 'The inventory for Ansible',
    load: async () => (await import('./integrations.ts')).inventory,
  },
  links: {
    isMuster: true,
    summary: 'Make links named like the commands',
    load: async () => (await import('./help.ts')).links,
  },
  login: { isMuster: true, summary: 'Log in to a server', load: async () => (await import('./login.ts')).login },
  logout: { isMuster: true, summary: 'End a login', load: async () => (await import('./login.ts')).logout },
  manpages: {
    isMuster: true,
    summary: 'Write pages of the manual',
    load: async () => (await import('./help.ts')).manpages,
  },
  runs: {
    isMuster: true,
    summary: 'List, show, follow and cancel runs',
    load: async () => (await import('./runs.ts')).runs,
  },
  slurm: {
    isMuster: true,
    summary: 'Nodes and partitions for Slurm',
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
