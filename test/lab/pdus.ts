import { existsSync, readFileSync } from 'node:fs';
import { chmod, cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { refuseBound, waitBound } from './bound.ts';
import { startChild } from './child.ts';
import { type MakeName, recordingOf } from './pdus/makes.ts';

export interface LabPdu {
  /** Also its community. */
  readonly name: string;
  readonly address: string;
  readonly make: MakeName;
  readonly outlets: number;
}

/** PDUs of several makes that speak SNMP, simulated by snmpsim; their outlets are on at first. */
export interface PduLab {
  state(pdu: string, outlet: number): 'on' | 'off';
  /** From outside, as by a hand. */
  put(pdu: string, outlet: number, state: 'on' | 'off'): Promise<void>;
  /** It takes orders, and stays as it is. */
  stick(pdu: string, outlet: number, stuck?: boolean): Promise<void>;
  /** Seconds from an order to its effect. */
  wait(pdu: string, seconds: number): Promise<void>;
  /** Every order that came, such as `3 off`. */
  orders(pdu: string): readonly string[];
  stop(): Promise<void>;
}

export async function startPdus(pdus: readonly LabPdu[], port: number): Promise<PduLab> {
  const addresses = [...new Set(pdus.map(({ address }) => address))];
  refuseBound('udp', addresses, port);
  const directory = await mkdtemp(join(tmpdir(), 'muster-pdus-'));
  const [data, modules, states, cache] = ['data', 'modules', 'states', 'cache'].map((name) => join(directory, name));
  for (const each of [data, modules, states, cache]) await mkdir(each!);
  for (const { name, make, outlets } of pdus)
    await writeFile(join(data!, `${name}.snmprec`), recordingOf(name, make, outlets));
  await cp(join(import.meta.dirname, 'pdus/outlet.py'), join(modules!, 'outlet.py'));
  const isRoot = process.getuid?.() === 0;
  // It does not run as root.
  if (isRoot) for (const each of [directory, data, modules, states, cache]) await chmod(each!, 0o777);
  const child = startChild(
    'snmpsimd',
    [
      ...(isRoot ? ['--process-user=nobody', '--process-group=nogroup'] : [`--process-user=${userInfo().username}`]),
      `--data-dir=${data}`,
      `--cache-dir=${cache}`,
      `--variation-modules-dir=${modules}`,
      `--variation-module-options=outlet:${states}`,
      '--logging-method=stderr',
      ...addresses.map((address) => `--agent-udpv4-endpoint=${address}:${port}`),
    ],
    { directory, logFile: join(directory, 'log') },
  );
  const file = (name: string): string => join(states!, name);
  const stop = async (): Promise<void> => {
    await child.stop();
    await rm(directory, { recursive: true, force: true });
  };
  try {
    await waitBound('udp', addresses, port, [child]);
  } catch (error) {
    await stop();
    throw error;
  }
  const write = async (name: string, text: string): Promise<void> => {
    await writeFile(file(name), text, { mode: 0o666 });
    await chmod(file(name), 0o666);
  };
  return {
    state: (pdu, outlet) =>
      existsSync(file(`${pdu}.${outlet}`)) && readFileSync(file(`${pdu}.${outlet}`), 'utf8').trim() === 'off'
        ? 'off'
        : 'on',
    put: (pdu, outlet, state) => write(`${pdu}.${outlet}`, state),
    stick: (pdu, outlet, stuck = true) =>
      stuck ? write(`${pdu}.${outlet}.stuck`, '') : rm(file(`${pdu}.${outlet}.stuck`), { force: true }),
    wait: (pdu, seconds) => write(`${pdu}.wait`, String(seconds)),
    orders: (pdu) =>
      existsSync(file(`${pdu}.log`))
        ? readFileSync(file(`${pdu}.log`), 'utf8')
            .trim()
            .split('\n')
            .filter(Boolean)
        : [],
    stop,
  };
}
