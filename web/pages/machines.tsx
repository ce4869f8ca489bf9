import { useEffect, useMemo, useState } from 'preact/hooks';
import { inPath } from '../api/client.ts';
import type { NodesReply } from '../api/types.ts';
import { Badge, Card, PageTitle, Read, TableHead } from '../design/parts.tsx';
import { askPower, cluster, nodeNamed, readAll } from '../model/cluster.ts';
import { changesSeen } from '../model/live.ts';
import { byName, folded } from '../model/ranges.ts';
import { linkTo } from '../model/route.ts';
import { select } from '../model/selection.ts';
import { useStore } from '../model/store.ts';
import { common } from '../texts/common.ts';
import { texts } from '../texts/machines.ts';
import { PowerMenu } from './actions.tsx';
import { ReadingState, useReadings } from './node-readings.tsx';
import { powerTone } from './nodes.tsx';
import { Snapshots } from './snapshots.tsx';

const attributes = ['mgt', 'vmhost', 'vmcpus', 'vmmemory', 'hosttype'];

/** Machines by their hypervisors, which may have none. */
type Hypervisors = readonly (readonly [host: string, machines: readonly string[]])[];

export function hypervisorsOf(nodes: NodesReply): Hypervisors {
  const found = new Map<string, string[]>();
  const add = (host: string, ...names: string[]): unknown => found.set(host, [...(found.get(host) ?? []), ...names]);
  for (const [name, { mgt, vmhost, hosttype }] of Object.entries(nodes)) {
    if (hosttype === 'kvm') add(name);
    // A node with that kind of management that is no machine itself is a hypervisor.
    else if (mgt === 'kvm' && vmhost === undefined && nodesOn(nodes, name)) add(name);
    else if (mgt === 'kvm') add(vmhost ?? '', name);
  }
  return [...found].sort(([a], [b]) => byName(a, b)).map(([host, names]) => [host, names.toSorted(byName)]);
}

const nodesOn = (nodes: NodesReply, host: string): boolean =>
  Object.values(nodes).some(({ mgt, vmhost }) => mgt === 'kvm' && vmhost === host);

/** What a hypervisor says of a machine, as far as it is shown. */
type Inventory = Readonly<Record<string, string | readonly string[]>>;

interface MachineProps {
  readonly name: string;
  readonly defined: Readonly<Record<string, string>>;
  readonly inventory: Inventory | undefined;
}

function Machine({ name, defined, inventory }: MachineProps) {
  const [isOpen, setOpen] = useState(false);
  const power = nodeNamed(useStore(cluster), name)?.power;
  const shown = (found: Inventory[string] | undefined, attribute: string) =>
    found ?? <span class="muted">{defined[attribute] ?? '–'}</span>;
  return (
    <>
      <tr>
        <td>
          <a href={linkTo(`/nodes/${inPath(name)}`)}>{name}</a>
        </td>
        <td>{power === undefined ? <span class="muted">–</span> : <Badge tone={powerTone(power)}>{power}</Badge>}</td>
        <td class="numbers">{shown(inventory?.['CPUs'], 'vmcpus')}</td>
        <td class="numbers">{shown(inventory?.['Memory'], 'vmmemory')}</td>
        <td>
          <div class="row machine-acts">
            <PowerMenu range={name} count={1} of={name} />
            <a class="button" href={linkTo(`/nodes/${inPath(name)}/console`)} aria-label={texts.consoleOf(name)}>
              {common.console}
            </a>
            <button
              type="button"
              class="button"
              aria-expanded={isOpen}
              aria-label={texts.snapshotsOf(name)}
              onClick={() => setOpen(!isOpen)}
            >
              {texts.snapshots}
            </button>
          </div>
        </td>
      </tr>
      {isOpen && (
        <tr>
          <td colSpan={5}>
            <Snapshots node={name} />
          </td>
        </tr>
      )}
    </>
  );
}

interface HypervisorProps {
  readonly host: string;
  readonly machines: readonly string[];
  readonly nodes: NodesReply;
}

function Hypervisor({ host, machines, nodes }: HypervisorProps) {
  const range = folded(machines);
  const readings = useReadings<Inventory>(machines.length === 0 ? undefined : `/nodes/${inPath(range)}/inventory`);
  return (
    <Card
      title={host === '' ? texts.noHost : host}
      side={
        machines.length > 0 && (
          <button type="button" class="button" title={common.selectThese} onClick={() => select(range, machines)}>
            {common.machines(machines.length)}
          </button>
        )
      }
    >
      {machines.length === 0 ? (
        <p class="body muted">{texts.noMachine}</p>
      ) : (
        <>
          <div class="readings">
            <ReadingState readings={readings} count={machines.length} />
          </div>
          <div class="wide-table" tabIndex={0} role="region" aria-label={texts.machinesOf(host || texts.noHost)}>
            <table class="grid-table">
              <TableHead columns={texts.columns} hasActs />
              <tbody>
                {machines.map((name) => (
                  <Machine key={name} name={name} defined={nodes[name] ?? {}} inventory={readings.values.get(name)} />
                ))}
              </tbody>
            </table>
          </div>
        </>
      )}
    </Card>
  );
}

/** Virtual machines by hypervisor. */
export function Machines() {
  const seen = useStore(changesSeen);
  return (
    <>
      <PageTitle title={texts.title} about={texts.about} />
      <Read of={String(seen)} read={() => readAll(attributes)}>
        {(nodes) => <List nodes={nodes} />}
      </Read>
    </>
  );
}

function List({ nodes }: { nodes: NodesReply }) {
  const hypervisors = useMemo(() => hypervisorsOf(nodes), [nodes]);
  const known = useStore(cluster);
  const machines = useMemo(() => hypervisors.flatMap(([, names]) => names), [hypervisors]);
  useEffect(() => {
    // What keeps a machine from being read is said at its hypervisor.
    askPower(machines.flatMap((name) => nodeNamed(known, name) ?? [])).catch(() => {});
  }, [machines.join(), known.state]);
  if (hypervisors.length === 0)
    return (
      <div class="card empty">
        <strong>{texts.none}</strong>
        <p>{texts.howTo}</p>
        <pre class="code">{texts.example}</pre>
      </div>
    );
  return (
    <>
      {hypervisors.map(([host, names]) => (
        <Hypervisor key={host} host={host} machines={names} nodes={nodes} />
      ))}
    </>
  );
}
