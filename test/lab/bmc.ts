import { cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { labAddresses } from './addresses.ts';
import { buildModule } from './bmc/build.ts';
import { controllerAddresses, emulatorLines, hex, lanLines, type SimulatedBmc } from './bmc/configuration.ts';
import { consoleCommand } from './bmc/console.ts';
import { fruImage } from './bmc/records.ts';
import { type Machine, openSerialPorts, type SerialPort } from './bmc/serial-ports.ts';
import { type BmcState, readState } from './bmc/state.ts';
import { refuseBound, waitBound } from './bound.ts';
import { type LabChild, startChild } from './child.ts';

export interface BmcLabOptions {
  readonly count: number;
  /** The /16 below which the BMCs are, such as `127.10`. */
  readonly prefix: string;
  readonly port?: number;
  /** BMCs in one ipmi_sim process; at most 127. */
  readonly perProcess?: number;
  /** Milliseconds every answer is held back. */
  readonly delay?: number;
  /** Percent of answers that are lost. */
  readonly loss?: number;
  /** ipmi_sim as Debian ships it: no suite 17, no DCMI, suite 0 open, one fork per chassis command. */
  readonly stock?: boolean;
  /** Refuse suite 0. */
  readonly no0?: boolean;
  /** Machines have serial ports, which are reached by serial over LAN, and this is what they do with what is typed. */
  readonly serial?: Machine;
}

/** What is wrong with one BMC from now on. Members that are absent stay as they are. Not for `stock`. */
export interface BmcFaults {
  /** Milliseconds every answer is held back. */
  readonly delay?: number;
  /** Percent of answers that are lost; 100 is a dead BMC. */
  readonly loss?: number;
  /** Every answer consists of random bytes. */
  readonly garbage?: boolean;
  /** Cipher suite 17 is refused. */
  readonly refuse17?: boolean;
  /** LAN settings are accepted and dropped. */
  readonly dropSettings?: boolean;
  /** All sessions and consoles are gone, as after a restart of the BMC. */
  readonly forget?: true;
}

/** Simulated BMCs: ipmi_sim processes on loopback addresses. Accounts: `labAccounts`. */
export interface BmcLab {
  readonly addresses: readonly string[];
  readonly directory: string;
  /** What the BMC believes; not for `stock`. */
  state(index: number): BmcState;
  /** Gives a sensor a raw value; with `event` a crossed threshold is logged. */
  set(index: number, sensor: number, value: number, event?: boolean): Promise<void>;
  fault(index: number, faults: BmcFaults): Promise<void>;
  /** All are as at the start but for their event logs, sensors, network settings and sessions; not for `stock`. */
  reset(): Promise<void>;
  /** How many sessions are open; not for `stock`. */
  sessions(index: number): Promise<number>;
  /** How many of them use cipher suite 17. */
  suite17Sessions(index: number): Promise<number>;
  /** The serial port of its machine. */
  serial(index: number): SerialPort;
  stop(): Promise<void>;
}

interface SimulatorProcess {
  readonly child: LabChild;
  readonly stateFile: string;
  readonly console: string;
}

const consolePort = 9000;
const serialPort = 9004;
const scripts = join(import.meta.dirname, 'bmc');

export async function startBmcs(options: BmcLabOptions): Promise<BmcLab> {
  const { count, prefix, port = 623, stock = false } = options;
  const perProcess = Math.min(options.perProcess ?? 50, controllerAddresses.length);
  const addresses = labAddresses(prefix, count);
  refuseBound('udp', addresses, port);
  const module = stock ? undefined : await buildModule();
  const directory = await mkdtemp(join(tmpdir(), 'muster-bmcs-'));
  await Promise.all(['lanctl.sh', 'chassisctl.sh'].map((script) => cp(join(scripts, script), join(directory, script))));
  const bmcs = addresses.map(
    (address, index): SimulatedBmc => ({
      index,
      controller: controllerAddresses[index % perProcess]!,
      address,
      port,
      directory: join(directory, `bmc${index}`),
      serialPort: options.serial && serialPort,
    }),
  );
  const serials = options.serial && (await openSerialPorts(addresses, serialPort, options.serial));
  const starts = Array.from({ length: Math.ceil(count / perProcess) }, (_, number) =>
    startProcess(join(directory, `process${number}`), bmcs.slice(number * perProcess, (number + 1) * perProcess)),
  );
  const processes = await Promise.all(starts);

  async function startProcess(home: string, members: readonly SimulatedBmc[]): Promise<SimulatorProcess> {
    await mkdir(join(home, 'state'), { recursive: true });
    await Promise.all(
      members.map(async (bmc) => {
        await mkdir(bmc.directory);
        await writeFile(join(bmc.directory, 'fru.bin'), fruImage(bmc.index));
      }),
    );
    const stateFile = join(home, 'changes');
    const console = members[0]!.address;
    const lan = [
      `name "lab${members[0]!.index}"`,
      ...(module === undefined ? [] : [`loadlib "${module}" "${moduleOptions(stateFile)}"`]),
      `console ${console} ${consolePort}`,
      ...members.flatMap((bmc) => [
        ...lanLines(bmc, directory),
        ...(stock ? [`chassis_control "${directory}/chassisctl.sh ${bmc.directory}"`] : []),
      ]),
    ];
    const emulator = ['mc_setbmc 0x20', ...members.flatMap((bmc) => emulatorLines(bmc, stock))];
    await writeFile(join(home, 'lan.conf'), `${lan.join('\n')}\n`);
    await writeFile(join(home, 'cmd.emu'), `${emulator.join('\n')}\n`);
    const args = ['-c', join(home, 'lan.conf'), '-f', join(home, 'cmd.emu'), '-s', join(home, 'state'), '-n', '-p'];
    const child = startChild('ipmi_sim', args, { directory: home, logFile: join(home, 'log') });
    return { child, stateFile, console };
  }

  function moduleOptions(stateFile: string): string {
    const settings = { delay: options.delay, loss: options.loss, no0: options.no0 ? 1 : undefined };
    const words = Object.entries(settings).flatMap(([key, value]) => (value === undefined ? [] : [`${key}=${value}`]));
    return [`statefile=${stateFile}`, ...words].join(' ');
  }

  async function stop(): Promise<void> {
    await Promise.all(processes.map(({ child }) => child.stop()));
    serials?.close();
    await rm(directory, { recursive: true, force: true });
  }

  try {
    const children = processes.map(({ child }) => child);
    await waitBound('udp', addresses, port, children);
  } catch (error) {
    await stop();
    throw error;
  }

  const processOf = (index: number): SimulatorProcess => {
    const found = processes[Math.floor(index / perProcess)];
    if (!found || index >= count) throw new Error(`There is no BMC ${index}; there are ${count}.`);
    return found;
  };

  const tell = (index: number, command: string, words: string): Promise<string> => {
    const { console } = processOf(index);
    return consoleCommand(console, consolePort, `${command} ${hex(bmcs[index]!.controller)} ${words}`);
  };

  return {
    addresses,
    directory,
    state: (index) => readState(processOf(index).stateFile, bmcs[index]!.controller),
    async set(index, sensor, value, event = false) {
      await tell(index, 'sensor_set_value', `0 ${sensor} ${value} ${event ? 1 : 0}`);
    },
    async fault(index, faults) {
      for (const [name, value] of Object.entries(faults)) await tell(index, 'lab_fault', `${name} ${Number(value)}`);
    },
    async reset() {
      // A console that is called twice at once answers a second later.
      for (const index of addresses.keys()) await tell(index, 'lab_reset', '');
      await Promise.all(processes.map(({ stateFile }) => rm(stateFile, { force: true })));
    },
    async sessions(index) {
      const output = await tell(index, 'lab_sessions', '');
      return Number(/sessions=(\d+)/.exec(output)?.[1]);
    },
    async suite17Sessions(index) {
      const output = await tell(index, 'lab_sessions', '');
      return Number(/suite17=(\d+)/.exec(output)?.[1]);
    },
    serial(index) {
      if (!serials) throw new Error('The machines have no serial ports.');
      return serials.port(index);
    },
    stop,
  };
}
