/** Every command; small relatives share a file. */
export { bmcdiscover } from './network-search.ts';
export { chdef } from './chdef.ts';
export { chdefs } from './chdefs.ts';
export { chvm } from './machines.ts';
export { clonevm } from './clonevm.ts';
export { copycds } from './copycds.ts';
export { lsattributes, lstemplate, lstypes } from './descriptions.ts';
export { events } from './events.ts';
export { genimage } from './image-builds.ts';
export { rbeacon, rbootseq, renergy, reventlog, rinv, rvitals } from './hardware.ts';
export { imgexport } from './image-bundles.ts';
export { imgimport } from './image-bundles.ts';
export { imgpull } from './imgpull.ts';
export { imgrun } from './image-builds.ts';
export { localrest } from './network-search.ts';
export { lsanswers } from './lsanswers.ts';
export { lsboot } from './lsboot.ts';
export { lschanges } from './lschanges.ts';
export { lsdef } from './lsdef.ts';
export { lsimage } from './image-list.ts';
export { lspolicy } from './lspolicy.ts';
export { lsslp } from './network-search.ts';
export { makenetworks } from './makenetworks.ts';
export { mkdef } from './mkdef.ts';
export { mkdefs } from './mkdefs.ts';
export { mkvm } from './machines.ts';
export { metrics, sd } from './monitoring.ts';
export { lsleases, makedhcp, makedns, makehosts } from './name-services.ts';
export { nodeadd, nodech, nodegrpch, nodels } from './node-columns.ts';
export { nodediscoverls } from './node-discovery.ts';
export { nodediscoverstart } from './node-discovery.ts';
export { nodediscoverstop } from './node-discovery.ts';
export { nodeset, nodesetStat } from './nodeset.ts';
export { nodestat } from './nodestat.ts';
export { packimage } from './image-packs.ts';
export { revert } from './revert.ts';
export { rinstall } from './rinstall.ts';
export { rmdef } from './rmdef.ts';
export { rmdefs } from './rmdef.ts';
export { rmigrate } from './machines.ts';
export { rmimage } from './image-list.ts';
export { rmvm } from './machines.ts';
export { rollbackimage } from './image-packs.ts';
export { rpower } from './rpower.ts';
export { rscan } from './rscan.ts';
export { rsetboot } from './rsetboot.ts';
export { rspconfig } from './rspconfig.ts';
export { lsrun, stoprun } from './runs.ts';
export { snapvm } from './snapvm.ts';
export { sshkey } from './sshkey.ts';
export {
  getAttribs,
  getTablesAllNodeAttribs,
  getTablesAllRowAttribs,
  getTablesNodesAttribs,
  tabdump,
  tabgrep,
} from './table-readings.ts';
export { delEntries, setAttribs, setNodesAttribs, tabrestore } from './table-writes.ts';
export { gettoken, lstoken, rmtoken } from './tokens.ts';
export { updatenode } from './updatenode.ts';
export { xdcp } from './xdcp.ts';
export { xdsh } from './xdsh.ts';
