import { oneOf, Path, setting } from '../../core/settings.ts';
import type { Capabilities, Offered } from '../capabilities.ts';
import { driverKind } from '../driver.ts';
import { kvmConsole } from './console.ts';
import { Hypervisors } from './hypervisors.ts';
import { kvmInventory, kvmSubnodes, kvmVitals } from './readings.ts';
import { type KvmAccess, type Machine, noHypervisor } from './machine.ts';
import { machineAttributes } from './machine-settings.ts';
import { kvmNextBoot, kvmPower } from './power.ts';
import { kvmSnapshots } from './snapshots.ts';
import { kvmVirtualMachine } from './virtual-machine.ts';
import { defaultSocket, onlyHere, remoteRoutes } from './routes.ts';

/** Commands that one hypervisor works on at a time: no more than its daemon takes from one client. */
const width = 5;

const offers = [
  'power',
  'nextBoot',
  'inventory',
  'vitals',
  'virtualMachine',
  'snapshots',
  'subnodes',
  'console',
] as const satisfies readonly (keyof Capabilities)[];

class KvmCapabilities implements Offered<typeof offers> {
  readonly #machine: Machine;

  constructor(machine: Machine) {
    this.#machine = machine;
  }

  get power() {
    return kvmPower(this.#machine);
  }

  get nextBoot() {
    return kvmNextBoot(this.#machine);
  }

  get inventory() {
    return kvmInventory(this.#machine);
  }

  get vitals() {
    return kvmVitals(this.#machine);
  }

  get virtualMachine() {
    return kvmVirtualMachine(this.#machine);
  }

  get snapshots() {
    return kvmSnapshots(this.#machine);
  }

  get console() {
    return kvmConsole(this.#machine);
  }

  get subnodes() {
    return kvmSubnodes(this.#machine);
  }
}

const settings = {
  libvirtSocket: setting(Path, 'path of the libvirt socket on every hypervisor', {
    default: defaultSocket,
    variable: 'MUSTER_LIBVIRT_SOCKET',
  }),
  libvirtCertificates: setting(
    Path,
    'directory with `cacert.pem`, `clientcert.pem` and `clientkey.pem`, to reach other hypervisors by TLS on port 16514',
    { defaultText: 'none: muster uses SSH', variable: 'MUSTER_LIBVIRT_CERTIFICATES' },
  ),
  accelerator: setting(
    oneOf('kvm', 'qemu'),
    'how virtual machines run: on the processor (`kvm`), or emulated (`qemu`)',
    { default: 'kvm', variable: 'MUSTER_ACCELERATOR' },
  ),
};

/** Virtual machines on libvirt: a node's machine has the node's name. */
export const kvm = driverKind({
  settings,
  open({ libvirtSocket = defaultSocket, libvirtCertificates, accelerator = 'kvm' }, { powerTimeout, hosts }) {
    const routes = hosts ? remoteRoutes(hosts, libvirtSocket, libvirtCertificates) : onlyHere(libvirtSocket);
    const hypervisors = new Hypervisors(routes);
    return {
      name: 'kvm',
      offers,
      attributes: ['vmhost', ...machineAttributes],
      hypervisors,
      async target({ name, attributes: { vmhost, ...attributes } }, needs) {
        if (vmhost === undefined && needs !== 'subnodes') throw noHypervisor();
        const host = vmhost ?? name;
        const route = await hypervisors.routeTo(host);
        return {
          device: `kvm ${host}`,
          address: host,
          width,
          joinsReadings: true,
          // Claims of disks and machines are in the memory of the server.
          staysHere: true,
          access: { node: name, host: vmhost, attributes, route },
        };
      },
      connect: (access: KvmAccess) => new KvmCapabilities({ access, hypervisors, powerTimeout, accelerator }),
      close: () => hypervisors.close(),
    };
  },
});
