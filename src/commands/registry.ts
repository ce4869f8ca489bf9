import { Compile } from 'typebox/compile';
import { Fault } from '../core/errors.ts';
import { bmcdiscover } from './bmcdiscover.ts';
import { chdef } from './chdef.ts';
import type { AnyCommand } from './command.ts';
import { delEntries } from './delEntries.ts';
import { getAttribs } from './getAttribs.ts';
import { getTablesAllNodeAttribs } from './getTablesAllNodeAttribs.ts';
import { getTablesAllRowAttribs } from './getTablesAllRowAttribs.ts';
import { getTablesNodesAttribs } from './getTablesNodesAttribs.ts';
import { gettoken } from './gettoken.ts';
import { localrest } from './localrest.ts';
import { lsdef } from './lsdef.ts';
import { lsleases } from './lsleases.ts';
import { lspolicy } from './lspolicy.ts';
import { lsrun } from './lsrun.ts';
import { lsslp } from './lsslp.ts';
import { lstemplate } from './lstemplate.ts';
import { lstoken } from './lstoken.ts';
import { makedhcp } from './makedhcp.ts';
import { makedns } from './makedns.ts';
import { makehosts } from './makehosts.ts';
import { makenetworks } from './makenetworks.ts';
import { mkdef } from './mkdef.ts';
import { mkvm } from './mkvm.ts';
import { nodels } from './nodels.ts';
import { nodestat } from './nodestat.ts';
import { rbeacon } from './rbeacon.ts';
import { rbootseq } from './rbootseq.ts';
import { renergy } from './renergy.ts';
import { reventlog } from './reventlog.ts';
import { rinv } from './rinv.ts';
import { rmdef } from './rmdef.ts';
import { rmtoken } from './rmtoken.ts';
import { rmvm } from './rmvm.ts';
import { rpower } from './rpower.ts';
import { rscan } from './rscan.ts';
import { rsetboot } from './rsetboot.ts';
import { rspconfig } from './rspconfig.ts';
import { rvitals } from './rvitals.ts';
import { setAttribs } from './setAttribs.ts';
import { setNodesAttribs } from './setNodesAttribs.ts';
import { sshkey } from './sshkey.ts';
import { stoprun } from './stoprun.ts';
import { updatenode } from './updatenode.ts';
import { xdcp } from './xdcp.ts';
import { xdsh } from './xdsh.ts';

/** Every command by the name of its file; a part of a command that policies know as a whole has its name. */
export const commands = {
  bmcdiscover,
  chdef,
  delEntries,
  getAttribs,
  getTablesAllNodeAttribs,
  getTablesAllRowAttribs,
  getTablesNodesAttribs,
  gettoken,
  localrest,
  lsdef,
  lsleases,
  lspolicy,
  lsrun,
  lsslp,
  lstemplate,
  lstoken,
  makedhcp,
  makedns,
  makehosts,
  makenetworks,
  mkdef,
  mkvm,
  nodels,
  nodestat,
  rbeacon,
  rbootseq,
  renergy,
  reventlog,
  rinv,
  rmdef,
  rmtoken,
  rmvm,
  rpower,
  rscan,
  rsetboot,
  rspconfig,
  rvitals,
  setAttribs,
  setNodesAttribs,
  sshkey,
  stoprun,
  updatenode,
  xdcp,
  xdsh,
} as const;

export type CommandName = keyof typeof commands;

/** A command and its arguments for a caller outside this program: both are checked. */
export function commandFor(name: string, args: unknown): { readonly command: AnyCommand; readonly args: unknown } {
  if (!Object.hasOwn(commands, name)) throw new Fault('invalid', `There is no command "${name}".`);
  const command = commands[name as CommandName] as unknown as AnyCommand;
  const [problem] = Compile(command.args).Errors(args);
  if (problem)
    throw new Fault(
      'malformed',
      `The arguments of ${name} are wrong: ${problem.instancePath.slice(1) || 'they'} ${problem.message}.`,
    );
  return { command, args };
}
