import { readFileSync } from 'node:fs';
import { chmod, cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { labAddress } from './addresses.ts';
import { buildModule } from './bmc/build.ts';
import { type BmcState, readState } from './bmc/state.ts';
import { refuseBound, waitBound } from './bound.ts';
import { startChild } from './child.ts';
import type { Namespace } from './netns.ts';
import { relaySerial } from './vm/serial-relay.ts';
import { bootDisk, bootScript } from './vm/boot-media.ts';
import { emulatorFile, type Hardware, lanFile, ports, startScript, talkerArguments } from './vm/configuration.ts';

export interface VmOptions {
  /** The /16 below which its BMC is, such as `127.12`. */
  readonly prefix: string;
  readonly index?: number;
  /** The network that it is in, with its BMC. */
  readonly namespace?: Namespace;
  /** What it is made of; without, a small one that says from what it has booted. */
  readonly hardware?: Hardware;
}

/** A QEMU machine whose BMC is ipmi_sim. Power on starts QEMU, and the boot device is honoured. Account: admin of `labAccounts`. */
export interface Vm {
  readonly address: string;
  readonly directory: string;
  /** What its disk and its network boot print. */
  readonly texts: { readonly disk: string; readonly network: string };
  /** Everything the serial console has shown. */
  screen(): string;
  /** Waits until the text has been shown so many times in all. */
  shows(text: string, times?: number, patience?: number): Promise<void>;
  /** The process of QEMU; undefined when the machine is off. */
  pid(): number | undefined;
  state(): BmcState;
  stop(): Promise<void>;
}

const scripts = join(import.meta.dirname, 'bmc');

/** A machine that prints from what it has booted. */
const talker: Hardware = {
  async prepare({ directory }, texts) {
    await mkdir(join(directory, 'tftp'));
    await writeFile(join(directory, 'tftp/boot.ipxe'), bootScript(texts.network));
    await writeFile(join(directory, 'disk.img'), bootDisk(texts.disk));
  },
  qemu: talkerArguments,
};

export async function startVm({ prefix, index = 0, namespace, hardware = talker }: VmOptions): Promise<Vm> {
  const address = labAddress(prefix, index);
  if (!namespace) {
    refuseBound('udp', [address], 623);
    for (const port of Object.values(ports)) refuseBound('tcp', [address], port);
  }
  const module = await buildModule();
  const directory = await mkdtemp(join(tmpdir(), 'muster-vm-'));
  const file = (name: string): string => join(directory, name);
  const texts = { disk: `DISKBOOT-OK vm${index}`, network: `NETBOOT-OK vm${index}` };
  const machine = { index, address, directory };
  await mkdir(file('state'));
  await hardware.prepare(machine, texts);
  await Promise.all([
    cp(join(scripts, 'lanctl.sh'), file('lanctl.sh')),
    writeFile(file('bootnow'), 'none\n'),
    writeFile(file('lan.conf'), lanFile(machine, module, namespace ? ports.serial : ports.relay)),
    writeFile(file('cmd.emu'), emulatorFile),
    writeFile(file('start.sh'), startScript(machine, hardware.qemu(machine))),
  ]);
  await chmod(file('start.sh'), 0o755);
  const relay = namespace ? undefined : await relaySerial(address);
  const args = ['-c', file('lan.conf'), '-f', file('cmd.emu'), '-s', file('state'), '-n', '-p'];
  const [program, ...words] = namespace ? namespace.command('ipmi_sim', ...args) : ['ipmi_sim', ...args];
  const child = startChild(program, words, { directory, logFile: file('log') });

  const screen = (): string => readOrNothing(file('serial.log'));
  const pid = (): number | undefined => {
    const found = Number(readOrNothing(file('qemu.pid')));
    return found > 0 && readOrNothing(`/proc/${found}/comm`).startsWith('qemu') ? found : undefined;
  };
  const stop = async (): Promise<void> => {
    // QEMU first, while its parent is there to bury it.
    const qemu = pid();
    if (qemu !== undefined) process.kill(qemu, 'SIGTERM');
    for (let tries = 0; pid() !== undefined && tries < 100; tries++) await pause(20);
    await child.stop();
    relay?.close();
    await rm(directory, { recursive: true, force: true });
  };
  try {
    await waitBound('udp', [address], 623, [child]);
  } catch (error) {
    await stop();
    throw error;
  }
  return {
    address,
    directory,
    texts,
    screen,
    async shows(text, times = 1, patience = 60_000) {
      const deadline = Date.now() + patience;
      while (screen().split(text).length - 1 < times) {
        if (Date.now() > deadline) {
          const what = `The machine has not shown "${text}" ${times} times after ${patience} ms.`;
          throw new Error(`${what} Screen: ${screen()} QEMU: ${readOrNothing(file('qemu.log'))}`);
        }
        await pause(100);
      }
    },
    pid,
    state: () => readState(file('changes'), 0x20),
    stop,
  };
}

function readOrNothing(file: string): string {
  try {
    return readFileSync(file, 'latin1');
  } catch {
    return '';
  }
}
