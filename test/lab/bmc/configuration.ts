import { createHash } from 'node:crypto';
import { labAccounts } from '../addresses.ts';
import { analogSensors, compactRecord, controllerLocator, discreteSensors, fruLocator, fullRecord } from './records.ts';

/**
 * IPMB addresses of the management controllers of one process, the first is that of ipmi_sim's own BMC. Even ones only: an event
 * receiver cannot have an odd one.
 */
export const controllerAddresses: readonly number[] = [
  ...Array.from({ length: 0x70 }, (_, place) => 0x20 + 2 * place),
  ...Array.from({ length: 0x0f }, (_, place) => 0x02 + 2 * place),
];

export const hex = (byte: number): string => `0x${byte.toString(16).padStart(2, '0')}`;
const bytes = (values: readonly number[]): string => values.map(hex).join(' ');

export const macAddress = (index: number): string =>
  [0x02, 0xbc, 0x00, 0x00, (index >> 8) & 0xff, index & 0xff].map((byte) => hex(byte).slice(2)).join(':');

export const guid = (index: number): string => createHash('md5').update(`muster-lab-${index}`).digest('hex');

export interface SimulatedBmc {
  readonly index: number;
  readonly controller: number;
  readonly address: string;
  readonly port: number;
  readonly directory: string;
  /** Where its machine's serial port is, if it has one. */
  readonly serialPort?: number | undefined;
}

const accountLines = [
  ['2', labAccounts.administrator, 'admin'],
  ['3', labAccounts.operator, 'operator'],
  ['4', labAccounts.user, 'user'],
] as const;

/** The `lan.conf` lines of one BMC. */
export function lanLines(bmc: SimulatedBmc, scripts: string): string[] {
  const { index, controller, address, port, directory, serialPort } = bmc;
  return [
    `set_working_mc ${hex(controller)}`,
    'startlan 1',
    `addr ${address} ${port}`,
    'priv_limit admin',
    'allowed_auths_callback none',
    'allowed_auths_user md5',
    'allowed_auths_operator md5',
    'allowed_auths_admin md5',
    `guid ${guid(index)}`,
    `lan_config_program "${scripts}/lanctl.sh ${directory} ${address} ${macAddress(index)}"`,
    'endlan',
    ...(serialPort === undefined ? [] : [`sol "tcp:${address}:${serialPort}" 115200`]),
    ...accountLines.map(
      ([slot, { username, password }, level]) => `user ${slot} true "${username}" "${password}" ${level} 10 md5`,
    ),
  ];
}

const presenceOfSupply = [0x10, 0x20, 0x30, 0x66, 0x20, 0x00, 0x04, 0x08, 10, 0x6f, 0x00, 0xff, 0xff];
const processorTooHot = [0x40, 0x20, 0x30, 0x66, 0x20, 0x00, 0x04, 0x01, 2, 0x01, 0x59, 97, 95];

/** The emulator commands of one BMC: its sensors, records, FRU data and two events to begin with. */
export function emulatorLines({ index, controller, directory }: SimulatedBmc, stock: boolean): string[] {
  const mc = hex(controller);
  const eventMasks = (mask: string): string => `enable scanning per-state ${[mask, mask, mask, mask].join(' ')}`;
  return [
    `mc_add ${mc} 0 no-device-sdrs 0x23 2 0x15 0xbf 0x4f4d 0x0102`,
    `sel_enable ${mc} 1000 0x0a`,
    `mc_set_guid ${mc} ${guid(index)}`,
    `sensor_add ${mc} 0 0 35 0x6f event-only`,
    `sensor_set_event_support ${mc} 0 0 enable scanning per-state 000000000001111 000000000000000 000000000001111 000000000000000`,
    ...analogSensors(index).flatMap((sensor) => [
      `sensor_add ${mc} 0 ${sensor.number} ${hex(sensor.type)} 0x01`,
      `sensor_set_value ${mc} 0 ${sensor.number} ${sensor.value} 0`,
      `sensor_set_hysteresis ${mc} 0 ${sensor.number} settable 2 2`,
      `sensor_set_threshold ${mc} 0 ${sensor.number} settable 111111 ${sensor.thresholds.join(' ')}`,
      `sensor_set_event_support ${mc} 0 ${sensor.number} ${eventMasks('000101010010101')}`,
      `main_sdr_add ${mc} ${bytes(fullRecord(sensor))}`,
    ]),
    ...discreteSensors.flatMap((sensor) => [
      `sensor_add ${mc} 0 ${sensor.number} ${hex(sensor.type)} 0x6f`,
      ...sensor.set.map((bit) => `sensor_set_bit ${mc} 0 ${sensor.number} ${bit} 1 0`),
      `sensor_set_event_support ${mc} 0 ${sensor.number} ${eventMasks('000000000001011')}`,
      `main_sdr_add ${mc} ${bytes(compactRecord(sensor))}`,
    ]),
    `main_sdr_add ${mc} ${bytes(controllerLocator('LabBMC'))}`,
    `main_sdr_add ${mc} ${bytes(fruLocator('Builtin FRU'))}`,
    `mc_add_fru_data ${mc} 0 512 file 0 "${directory}/fru.bin"`,
    `sel_add ${mc} 0x02 ${bytes(presenceOfSupply)}`,
    `sel_add ${mc} 0x02 ${bytes(processorTooHot)}`,
    `mc_enable ${mc}`,
    ...(stock ? [] : [`lab_ready ${mc}`]),
  ];
}
