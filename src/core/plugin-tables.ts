/**
 * The columns by which xCAT chooses who does a command, as its error names them where nobody can. Scripts look for these words. Commands
 * that are not here go by the attribute mgt alone.
 */
const columns: Readonly<Record<string, string>> = {
  chvm: 'nodehm.mgt;nodehm.power,mgt',
  clonevm: 'nodehm.mgt;nodehm.power,mgt',
  getmacs: 'nodehm.getmac,mgt;nodehm.mgt',
  lsvm: 'hypervisor.type;nodetype.os=(esx.*);nodehm.mgt;nodehm.mgt=ipmi;nodehm.mgt=kvm;hypervisor.type=(rhev.*)',
  mkvm: 'nodehm.mgt;nodehm.power,mgt',
  nodeset: 'noderes.netboot=(grub2[-]?.*);nodehm.mgt;nodehm.mgt=switch',
  rbeacon: 'nodehm.mgt=blade|fsp;nodehm.mgt=openbmc',
  renergy: 'nodehm.mgt=blade|fsp|ipmi;nodehm.mgt=ipmi|fsp',
  reventlog: 'nodehm.mgt=blade|fsp;nodehm.mgt=openbmc',
  rflash: 'nodehm.mgt;nodehm.mgt=openbmc',
  rinv: 'nodehm.mgt;nodehm.power,mgt;nodehm.mgt=openbmc',
  rmigrate: 'nodehm.power,mgt;nodehm.mgt',
  rmvm: 'nodehm.mgt;nodehm.power,mgt',
  rpower: 'nodehm.power,mgt;nodehm.mgt;nodehm.mgt=openbmc;pduoutlet.pdu=.*',
  rscan: 'nodehm.mgt;nodehm.mgt=ipmi',
  rsetboot: 'nodehm.power,mgt;nodehm.mgt;nodehm.mgt=openbmc',
  rshutdown: 'nodetype.os=(esxi.*)',
  rspconfig: 'nodehm.mgt=blade|fsp|ipmi;switches.switchtype;nodehm.mgt=openbmc',
  rvitals: 'nodehm.mgt=blade|fsp;nodehm.mgt=openbmc',
};

export const noPlugin = (command: string): string =>
  `Unable to identify plugin for this command, check relevant tables: ${Object.hasOwn(columns, command) ? columns[command]! : 'nodehm.mgt'}`;
