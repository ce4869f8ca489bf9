/** Every command; small relatives share a file. */
export { bmcaccounts } from './bmcaccounts.ts';
export { bmccertificates } from './bmccertificates.ts';
export { bmccertify, lsbmcauthority } from './bmccertify.ts';
export { bmcrotate } from './bmcrotate.ts';
export { bmcdiscover } from './network-search.ts';
export { chdef } from './chdef.ts';
export { chdefs } from './chdefs.ts';
export { addkit, rmkit } from './kits.ts';
export { addkitcomp, chkkitcomp, rmkitcomp } from './kit-components.ts';
export { lskit, lskitcomp, lskitdeployparam } from './kit-lists.ts';
export { chkosimage, rmosdistro } from './image-media.ts';
export { chvm } from './machines.ts';
export { clonevm } from './clonevm.ts';
export { lsconsoles, makeconservercf, rcons, replaycons } from './consoles.ts';
export { copycds } from './copycds.ts';
export { lsattributes, lstemplate, lstypes } from './descriptions.ts';
export { events } from './events.ts';
export { genimage } from './image-builds.ts';
export { rbeacon, rbootseq, renergy, reventlog, rinv, rvitals } from './hardware.ts';
export { imgcapture } from './imgcapture.ts';
export { imgexport } from './image-bundles.ts';
export { imgimport } from './image-bundles.ts';
export { imgpull } from './imgpull.ts';
export { imgrun } from './image-builds.ts';
export { localrest, switchdiscover } from './network-search.ts';
export { lskmodules } from './lskmodules.ts';
export { lsanswers } from './lsanswers.ts';
export { lsboot } from './lsboot.ts';
export { lschanges } from './lschanges.ts';
export { lsdef } from './lsdef.ts';
export { lsimage } from './image-list.ts';
export { lsoverlay, sendoverlay } from './overlays.ts';
export { lspolicy } from './lspolicy.ts';
export { lsslp } from './network-search.ts';
export { localnetworks, makenetworks } from './makenetworks.ts';
export { makeroutes } from './makeroutes.ts';
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
export { posture } from './posture.ts';
export { rbios } from './rbios.ts';
export { revert } from './revert.ts';
export { rvitalsSeries } from './series.ts';
export { rflash } from './rflash.ts';
export { rinstall } from './rinstall.ts';
export { rmdef } from './rmdef.ts';
export { rmdefs } from './rmdef.ts';
export { rmigrate } from './machines.ts';
export { rmimage } from './image-list.ts';
export { rmvm } from './machines.ts';
export { rmedia } from './rmedia.ts';
export { rollbackimage, tagimage } from './image-packs.ts';
export { lsoutlets } from './lsoutlets.ts';
export { rpower } from './rpower.ts';
export { rscan } from './rscan.ts';
export { rsetboot } from './rsetboot.ts';
export { rspconfig } from './rspconfig.ts';
export { lspowerbudget, rmpowerbudget, setpowerbudget } from './power-budgets.ts';
export { lsrun, stoprun } from './runs.ts';
export { doctor } from './doctor.ts';
export { lsservers } from './servers.ts';
export { snapvm } from './snapvm.ts';
export { snmove } from './snmove.ts';
export { sshkey } from './sshkey.ts';
export {
  getAttribs,
  getTablesAllNodeAttribs,
  getTablesAllRowAttribs,
  getTablesNodesAttribs,
  tabdump,
  tabgrep,
} from './table-readings.ts';
export { writeTableRows } from './table-rows.ts';
export { delEntries, setAttribs, setNodesAttribs, tabrestore } from './table-writes.ts';
export { tabprune } from './tabprune.ts';
export { gettoken, lsmynodes, lssession, lstoken, rmtoken, startsession } from './tokens.ts';
export { updatenode } from './updatenode.ts';
export { xdcp } from './xdcp.ts';
export { xdsh } from './xdsh.ts';
