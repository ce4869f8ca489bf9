/** Every command; small relatives share a file. */
export { bmcdiscover } from './bmcdiscover.ts';
export { chdef } from './chdef.ts';
export { chdefs } from './chdefs.ts';
export { chvm } from './chvm.ts';
export { clonevm } from './clonevm.ts';
export { copycds } from './copycds.ts';
export { lsattributes, lstemplate, lstypes } from './descriptions.ts';
export { events } from './events.ts';
export { genimage } from './genimage.ts';
export { rbeacon, rbootseq, renergy, reventlog, rinv, rvitals } from './hardware.ts';
export { imgexport } from './imgexport.ts';
export { imgimport } from './imgimport.ts';
export { imgpull } from './imgpull.ts';
export { imgrun } from './imgrun.ts';
export { localrest } from './localrest.ts';
export { lsanswers } from './lsanswers.ts';
export { lsboot } from './lsboot.ts';
export { lschanges } from './lschanges.ts';
export { lsdef } from './lsdef.ts';
export { lsimage } from './lsimage.ts';
export { lspolicy } from './lspolicy.ts';
export { lsslp } from './lsslp.ts';
export { makenetworks } from './makenetworks.ts';
export { mkdef } from './mkdef.ts';
export { mkdefs } from './mkdefs.ts';
export { mkvm } from './mkvm.ts';
export { metrics, sd } from './monitoring.ts';
export { lsleases, makedhcp, makedns, makehosts } from './name-services.ts';
export { nodeadd, nodech, nodegrpch, nodels } from './node-columns.ts';
export { nodediscoverls } from './nodediscoverls.ts';
export { nodediscoverstart } from './nodediscoverstart.ts';
export { nodediscoverstop } from './nodediscoverstop.ts';
export { nodeset, nodesetStat } from './nodeset.ts';
export { nodestat } from './nodestat.ts';
export { packimage } from './packimage.ts';
export { revert } from './revert.ts';
export { rinstall } from './rinstall.ts';
export { rmdef } from './rmdef.ts';
export { rmdefs } from './rmdefs.ts';
export { rmigrate } from './rmigrate.ts';
export { rmimage } from './rmimage.ts';
export { rmvm } from './rmvm.ts';
export { rollbackimage } from './rollbackimage.ts';
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
