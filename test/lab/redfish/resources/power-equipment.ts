import type { Bmc } from '../bmc.ts';
import { collection, done, failure, type Json, link, notInList, root } from '../resource.ts';

const pdu = `${root}/PowerEquipment/RackPDUs/1`;
const outlets = 8;
/** This one is switched by nobody. */
const unswitched = 8;

/** A rack PDU: outlet n draws n * 100 W and n * 0.5 A, and has taken n kWh. What it says goes with the delay of power orders. */
export function addPowerEquipment(bmc: Bmc): Json {
  if (bmc.kind !== 'pdu') return {};
  const { resources } = bmc;
  const states = new Map(Array.from({ length: outlets }, (_, at) => [at + 1, 'On']));
  const pathOf = (outlet: number): string => `${pdu}/Outlets/OUTLET${outlet}`;
  resources.set(`${root}/PowerEquipment`, {
    get: () => ({ Id: 'PowerEquipment', Name: 'Power Equipment', RackPDUs: link(`${root}/PowerEquipment/RackPDUs`) }),
  });
  resources.set(
    `${root}/PowerEquipment/RackPDUs`,
    collection(`${root}/PowerEquipment/RackPDUs`, 'PowerDistribution', () => [pdu]),
  );
  resources.set(pdu, {
    get: () => ({
      '@odata.id': pdu,
      Id: '1',
      Name: 'RackPDU1',
      EquipmentType: 'RackPDU',
      Model: 'LabPDU 8',
      SerialNumber: 'PDU000001',
      FirmwareVersion: '1.2.3',
      Outlets: link(`${pdu}/Outlets`),
      Metrics: link(`${pdu}/Metrics`),
    }),
  });
  resources.set(`${pdu}/Metrics`, {
    get: () => ({ Id: 'Metrics', Name: 'Metrics', PowerWatts: { Reading: 3_600 }, EnergykWh: { Reading: 36.5 } }),
  });
  resources.set(
    `${pdu}/Outlets`,
    collection(`${pdu}/Outlets`, 'Outlet', () => [...states.keys()].map(pathOf)),
  );
  for (const outlet of states.keys()) {
    const path = pathOf(outlet);
    const target = `${path}/Actions/Outlet.PowerControl`;
    resources.set(path, {
      get: () => ({
        '@odata.id': path,
        Id: `OUTLET${outlet}`,
        Name: `Outlet ${outlet}`,
        PowerState: states.get(outlet),
        PowerWatts: { Reading: outlet * 100 },
        CurrentAmps: { Reading: outlet / 2 },
        EnergykWh: { Reading: outlet },
        ...(outlet === unswitched ? {} : { Actions: { '#Outlet.PowerControl': { target } } }),
      }),
    });
    resources.set(target, {
      privilege: 'ConfigureComponents',
      post({ PowerState: wanted }) {
        if (wanted !== 'On' && wanted !== 'Off') return notInList(wanted, 'PowerState');
        if (outlet === unswitched) return failure(400, 'ActionNotSupported', 'The action is not supported.');
        bmc.resets.push(`${outlet} ${wanted}`);
        states.set(outlet, wanted === 'On' ? 'PoweringOn' : 'PoweringOff');
        setTimeout(() => states.set(outlet, wanted), bmc.powerDelay).unref();
        return done;
      },
    });
  }
  return { PowerEquipment: link(`${root}/PowerEquipment`) };
}
