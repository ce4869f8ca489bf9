const zones = 'There are no zones: muster has one SSH key for all nodes, which muster sshkey shows.';
const consoleWindows = 'muster opens no windows: muster consoles NODERANGE shows consoles in this terminal.';
const plugins =
  'There are no monitoring plug-ins: nodestat shows which nodes and services answer, muster events shows what happens, and Prometheus reads GET /metrics.';
const vlans = 'muster configures no switches; set VLANs on the switches themselves.';
const profiles = 'There are no hardware profiles; groups give their attributes to nodes: chdef -t group sets them.';
const power = 'muster manages no IBM Power systems with an HMC, and no flexible nodes.';
const aix = 'muster manages no AIX nodes and has no NIM; copycds and genimage make Linux images.';
const oVirt = 'muster manages KVM hypervisors, not oVirt; mkvm and lsvm are for virtual machines.';
const ownDatabase =
  'muster brings its own database, which needs no set-up; muster backup and muster restore save it and bring it back.';
const softLayer = 'muster knows no SoftLayer machines; mkdef defines nodes.';
const converters = 'muster reads the tables that dumpxCATdb writes, by muster import; it converts no other format.';
const buildkit = 'muster builds no kits; addkit adds those that xCAT has built.';
const profilesOfKits = 'Kits run no plug-ins here, so there is nothing to refresh; updatenode brings nodes up to date.';
const itsServer = 'systemctl restart muster restarts the server, and journalctl -u muster shows its log.';

/** Commands of xCAT's manual that muster has no use for, each with one sentence: what to use instead, or that there is nothing. */
export const absentCommands: Readonly<Record<string, string>> = {
  buildkit,
  noderefresh: profilesOfKits,
  cfgve: oVirt,
  chhypervisor: 'There are no settings of hypervisors to change here; chvm changes virtual machines.',
  lsve: oVirt,
  rmhypervisor: oVirt,
  cfm2xcat: converters,
  csm2xcat: converters,
  chvlan: vlans,
  chvlanports: vlans,
  lsvlan: vlans,
  mkvlan: vlans,
  rmvlan: vlans,
  chzone: zones,
  mkzone: zones,
  rmzone: zones,
  configfpc: 'muster knows no fan power controllers; bmcdiscover finds BMCs.',
  'copycds-cdrom': 'Read the medium into a file and give that to copycds.',
  db2sqlsetup: ownDatabase,
  mysqlsetup: ownDatabase,
  pgsqlsetup: ownDatabase,
  runsqlcmd: 'There is no access by SQL; tabdump shows tables, and chtab and chdef change them.',
  getslnodes: softLayer,
  pushinitrd: softLayer,
  groupfiles4dsh: 'muster clustershell and muster genders print the groups for other parallel shells.',
  lsflexnode: power,
  lshwconn: power,
  mkflexnode: power,
  mkhwconn: power,
  rmflexnode: power,
  rmhwconn: power,
  lstree:
    'There is no tree of service nodes; lsdef -w servicenode==NAME lists the nodes of one, and lsvm the machines of a hypervisor.',
  pcons:
    'muster types no commands into consoles: xdsh runs them on nodes, and muster consoles NODERANGE shows their consoles.',
  wkill: consoleWindows,
  wvid: consoleWindows,
  makentp: 'muster sets up no time server; the postscript setupntp sets up the nodes as clients of one.',
  mkdsklsnode: aix,
  mknimimage: aix,
  nimnodecust: aix,
  nimnodeset: aix,
  rmdsklsnode: aix,
  rmnimimage: aix,
  xcat2nim: aix,
  mknb: 'packimage makes the small RAM disk for unknown machines too: it copies the kernel and RAM disk of the image to the data directory.',
  monadd: plugins,
  moncfg: plugins,
  mondecfg: plugins,
  monls: plugins,
  monrm: plugins,
  monshow: plugins,
  monstart: plugins,
  monstop: plugins,
  nodeaddunmged: 'mkdef makes a node; one without mgt is not managed.',
  nodechprofile: profiles,
  nodeimport: 'There are no hardware profiles; mkdef -z makes nodes from a stanza file.',
  pasu: 'There is no ASU here; muster bios changes BIOS settings, and rspconfig those of BMCs.',
  piflash: 'Use `rflash`, which updates firmware over Redfish.',
  rescanplugins: 'There are no plug-ins to scan: every command is part of muster.',
  restartxcatd: itsServer,
  rollupdate:
    'There are no rolling updates yet; updatenode brings a range of nodes up to date, and rinstall installs it again.',
  setupiscsidev: 'muster makes no iSCSI disks; nodes boot from the network or from their own disks.',
  switchblade: 'muster switches no media trays of blade centers.',
  updateSNimage: 'Service nodes keep no images of their own here, so there is nothing to update.',
  winstall: 'rinstall boots nodes with an image.',
  xCATWorld: 'The page /docs of the server describes the interface, with examples for programs.',
  xcatchroot: 'muster image exec runs a program in an image, and muster image shell lets you type several.',
  xcatconfig: 'The first start of muster sets everything up, and muster doctor checks it.',
  xcatd: `muster serve runs the server; ${itsServer}`,
  xcatdebug: 'The setting logLevel = "debug" makes the server log more; MUSTER_DEBUG=1 does it for a command.',
  xcatperftest: 'muster has no load test for your server; docs/speed.md has measured figures.',
  xcatsetup: 'mkdef and chdef with a noderange define many nodes at once, and muster apply reads them from a file.',
  xcattest: 'muster doctor checks an installation; muster has no test cases to run on yours.',
  xpbsnodes: 'muster slurm prints nodes and partitions for Slurm; there is nothing for PBS.',
};
