import type { CommandEntry } from '../command.ts';
import { absentCommands } from './absent-commands.ts';

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
  nodechmac: {
    summary: 'Give a node the MAC address of its new machine',
    load: async () => (await import('./replace-machine.ts')).nodechmac,
  },
  swapnodes: {
    summary: 'Exchange the hardware of two nodes in the database',
    load: async () => (await import('./replace-machine.ts')).swapnodes,
  },
  // Tables.
  regnotif: {
    summary: 'Run a program when tables change',
    load: async () => (await import('./notifications.ts')).regnotif,
  },
  unregnotif: {
    summary: 'Stop running a program when tables change',
    load: async () => (await import('./notifications.ts')).unregnotif,
  },
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
  xcatprobe: {
    summary: 'Look at one part of the cluster and say what is wrong',
    load: async () => (await import('./xcatprobe.ts')).xcatprobe,
  },
  xcatsnap: {
    summary: 'Gather facts about the server for support',
    load: async () => (await import('./support.ts')).xcatsnap,
  },
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
  rspreset: { summary: 'Restart BMCs', load: async () => (await import('./power.ts')).rspreset },
  rscan: { summary: 'List what a chassis contains', load: async () => (await import('./discovery.ts')).rscan },
  bmcdiscover: {
    summary: 'Find BMCs in a range of addresses',
    load: async () => (await import('./discovery.ts')).bmcdiscover,
  },
  lsslp: {
    summary: 'Find devices that announce themselves by SLP or SSDP',
    load: async () => (await import('./discovery.ts')).lsslp,
  },
  switchdiscover: {
    summary: 'Find switches in a range of addresses',
    load: async () => (await import('./switchdiscover.ts')).switchdiscover,
  },
  rcons: { summary: 'Open the serial console of a node', load: async () => (await import('./consoles.ts')).rcons },
  replaycons: {
    summary: 'Print what a serial console has printed',
    load: async () => (await import('./consoles.ts')).replaycons,
  },
  wcons: {
    summary: 'Show serial consoles beside each other',
    load: async () => (await import('./consoles.ts')).wcons,
  },
  makegocons: {
    summary: 'Keep serial consoles open and log them',
    load: async () => (await import('./consoles.ts')).makegocons,
  },
  makeconservercf: {
    summary: 'Keep serial consoles open and log them',
    load: async () => (await import('./consoles.ts')).makeconservercf,
  },
  rflash: {
    summary: 'Show and update firmware of nodes and BMCs',
    load: async () => (await import('./rflash.ts')).rflash,
  },
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
  lslite: {
    summary: 'Show what is statelite of an image, or of nodes',
    load: async () => (await import('./lslite.ts')).lslite,
  },
  imgcapture: {
    summary: 'Make an image of a running node',
    load: async () => (await import('./imgcapture.ts')).imgcapture,
  },
  imgexport: { summary: 'Write an image to a bundle file', load: async () => (await import('./images.ts')).imgexport },
  imgimport: { summary: 'Make an image from a bundle file', load: async () => (await import('./images.ts')).imgimport },
  lsimage: { summary: 'Show what is built of an image', load: async () => (await import('./images.ts')).lsimage },
  chkosimage: {
    summary: 'Check whether nodes can boot an image',
    load: async () => (await import('./image-media.ts')).chkosimage,
  },
  geninitrd: {
    summary: 'Make the initial RAM disk of an image',
    load: async () => (await import('./image-media.ts')).geninitrd,
  },
  rmosdistro: {
    summary: 'Remove what copycds has copied',
    load: async () => (await import('./image-media.ts')).rmosdistro,
  },
  addkit: { summary: 'Add software kits', load: async () => (await import('./kits.ts')).addkit },
  rmkit: { summary: 'Remove software kits', load: async () => (await import('./kits.ts')).rmkit },
  lskit: { summary: 'List software kits', load: async () => (await import('./kit-lists.ts')).lskit },
  lskitcomp: {
    summary: 'List components of software kits',
    load: async () => (await import('./kit-lists.ts')).lskitcomp,
  },
  lskitdeployparam: {
    summary: 'List deployment parameters of software kits',
    load: async () => (await import('./kit-lists.ts')).lskitdeployparam,
  },
  addkitcomp: {
    summary: 'Let an image take in components of software kits',
    load: async () => (await import('./kit-components.ts')).addkitcomp,
  },
  rmkitcomp: {
    summary: 'Take components of software kits out of an image',
    load: async () => (await import('./kit-components.ts')).rmkitcomp,
  },
  chkkitcomp: {
    summary: 'Check whether components of software kits fit an image',
    load: async () => (await import('./kit-components.ts')).chkkitcomp,
  },
  lskmodules: {
    summary: 'List kernel modules in packages of drivers',
    load: async () => (await import('./lskmodules.ts')).lskmodules,
  },
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
    load: async () => (await import('./discovered-machines.ts')).nodediscoverls,
  },
  nodediscoverdef: {
    summary: 'Make a machine that booted a node that is defined',
    load: async () => (await import('./discovered-machines.ts')).nodediscoverdef,
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
  snapvm: { summary: 'Snapshots of virtual machines', load: async () => (await import('./snapvm.ts')).snapvm },
  lsvm: { summary: 'List virtual machines', load: async () => (await import('./vm.ts')).lsvm },
  // Nodes themselves.
  xdsh: { summary: 'Run commands on nodes', load: async () => (await import('./xdsh.ts')).xdsh },
  xdcp: { summary: 'Copy files to nodes', load: async () => (await import('./xdcp.ts')).xdcp },
  psh: { summary: 'Run commands on nodes', load: async () => (await import('./psh.ts')).psh },
  pscp: { summary: 'Copy files to nodes', load: async () => (await import('./psh.ts')).pscp },
  prsync: { summary: 'Copy files to nodes', load: async () => (await import('./psh.ts')).prsync },
  sinv: {
    summary: 'Compare what nodes print with a template',
    load: async () => (await import('./sinv.ts')).sinv,
  },
  xcoll: {
    summary: 'Fold equal output of nodes (a filter)',
    load: async () => (await import('./fold-lines.ts')).xcoll,
  },
  xdshcoll: {
    summary: 'Fold equal output of nodes (a filter)',
    load: async () => (await import('./fold-lines.ts')).xdshcoll,
  },
  xdshbak: {
    summary: 'Print output under the names of nodes (a filter)',
    load: async () => (await import('./fold-lines.ts')).xdshbak,
  },
  updatenode: {
    summary: 'Bring files, packages and scripts of nodes up to date',
    load: async () => (await import('./updatenode.ts')).updatenode,
  },
  snmove: {
    summary: 'Move nodes to another service node',
    load: async () => (await import('./snmove.ts')).snmove,
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
    load: async () => (await import('./networks.ts')).makenetworks,
  },
  makeroutes: {
    summary: 'Set routes of the management node',
    load: async () => (await import('./networks.ts')).makeroutes,
  },
  // What xCAT does not have.
  answers: {
    isMuster: true,
    summary: 'Show what the installers of nodes get',
    load: async () => (await import('./boot-reports.ts')).answers,
  },
  apply: {
    isMuster: true,
    summary: 'Make definitions match a file',
    load: async () => (await import('./apply.ts')).apply,
  },
  media: {
    isMuster: true,
    summary: 'Show, insert and eject virtual media',
    load: async () => (await import('./media.ts')).media,
  },
  bios: {
    isMuster: true,
    summary: 'Read, compare and change BIOS settings',
    load: async () => (await import('./bios.ts')).bios,
  },
  boot: {
    isMuster: true,
    summary: 'Show where nodes are in their boot, and why one does not continue',
    load: async () => (await import('./boot-reports.ts')).boot,
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
  console: {
    isMuster: true,
    summary: 'Open the serial console of a node, or print and search what consoles have printed',
    load: async () => (await import('./consoles.ts')).consoleOfNode,
  },
  consoles: {
    isMuster: true,
    summary: 'Show serial consoles beside each other, or list them',
    load: async () => (await import('./consoles.ts')).consoles,
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
  help: {
    isMuster: true,
    summary: 'List all commands, or explain a command or topic',
    load: async () => (await import('./help.ts')).help,
  },
  image: {
    isMuster: true,
    summary: 'Build images, run programs in them, tag packs and roll back',
    load: async () => (await import('./image.ts')).image,
  },
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
  budget: {
    isMuster: true,
    summary: 'Limit the power that nodes draw together',
    load: async () => (await import('./budget.ts')).budget,
  },
  bmc: {
    isMuster: true,
    summary: 'Show and change the accounts of BMCs',
    load: async () => (await import('./bmc.ts')).bmc,
  },
  outlets: {
    isMuster: true,
    summary: 'Show outlets of PDUs, or those that feed nodes',
    load: async () => (await import('./power.ts')).outlets,
  },
  overlay: {
    isMuster: true,
    summary: 'Show, compare and send the files that nodes have of their own',
    load: async () => (await import('./overlay.ts')).overlay,
  },
  posture: {
    isMuster: true,
    summary: 'Show how well BMCs are protected, and what to do',
    load: async () => (await import('./posture.ts')).posture,
  },
  rollback: {
    isMuster: true,
    summary: 'Make an earlier pack of an image current',
    load: async () => (await import('./image.ts')).rollback,
  },
  runs: {
    isMuster: true,
    summary: 'List, show, follow and cancel runs',
    load: async () => (await import('./runs.ts')).runs,
  },
  series: {
    isMuster: true,
    summary: 'Show temperatures, power draw and fans of the last day',
    load: async () => (await import('./series.ts')).series,
  },
  servers: {
    isMuster: true,
    summary: 'List the server and the workers on service nodes',
    load: async () => (await import('./servers.ts')).servers,
  },
  slurm: {
    isMuster: true,
    summary: 'Print nodes and partitions for Slurm',
    load: async () => (await import('./integrations.ts')).slurm,
  },
  status: {
    isMuster: true,
    summary: 'Show the cluster on one screen',
    load: async () => (await import('./status.ts')).status,
  },
  support: {
    isMuster: true,
    summary: 'Gather facts about the server for support',
    load: async () => (await import('./support.ts')).support,
  },
  token: {
    isMuster: true,
    summary: 'Make, list and revoke tokens for scripts',
    load: async () => (await import('./token.ts')).token,
  },
  undo: { isMuster: true, summary: 'Take back a change', load: async () => (await import('./changes.ts')).undo },
  // What muster does not need.
  ...Object.fromEntries(
    Object.entries(absentCommands).map(([name, instead]): [string, CommandEntry] => [
      name,
      {
        summary: 'Not here; says what to use instead',
        load: async () => (await import('./not-offered.ts')).absent(name, instead),
      },
    ]),
  ),
};
