import { type Bmc, uuid } from '../bmc.ts';
import { link, root, type Resources } from '../resource.ts';
import { hasCertificateService } from '../certificate-ways.ts';
import { addPowerEquipment } from './power-equipment.ts';

export function addRoot(bmc: Bmc): void {
  const resources: Resources = bmc.resources;
  const equipment = addPowerEquipment(bmc);
  resources.set('/redfish', { open: ['GET'], get: () => ({ v1: `${root}/` }) });
  resources.set(root, {
    open: ['GET'],
    get: () => ({
      '@odata.id': `${root}/`,
      '@odata.type': '#ServiceRoot.v1_15_0.ServiceRoot',
      Id: 'RootService',
      Name: 'Root Service',
      RedfishVersion: bmc.newStyle ? '1.17.0' : '1.6.0',
      UUID: uuid(bmc.index, 'service'),
      ...(bmc.kind === 'sparse' ? {} : { Vendor: 'Lab Systems', Product: productOf(bmc) }),
      Systems: link(`${root}/Systems`),
      Chassis: link(`${root}/Chassis`),
      Managers: link(`${root}/Managers`),
      SessionService: link(`${root}/SessionService`),
      AccountService: link(`${root}/AccountService`),
      ...equipment,
      ...(hasCertificateService(bmc) ? { CertificateService: link(`${root}/CertificateService`) } : {}),
      UpdateService: link(`${root}/UpdateService`),
      ...(resources.has(`${root}/Registries`) ? { Registries: link(`${root}/Registries`) } : {}),
      ...(bmc.kind === 'sparse' || bmc.kind === 'enclosure' ? {} : { Tasks: link(`${root}/TaskService`) }),
      ...(bmc.events ? { EventService: link(`${root}/EventService`) } : {}),
      Links: { Sessions: link(`${root}/SessionService/Sessions`) },
      ...(bmc.kind === 'sparse'
        ? {}
        : {
            ProtocolFeaturesSupported: { ExpandQuery: { ExpandAll: false, Levels: true, NoLinks: true, MaxLevels: 1 } },
          }),
    }),
  });
}

const productOf = ({ kind }: Bmc): string =>
  kind === 'openbmc' ? 'LabBMC OpenBMC' : kind === 'enclosure' ? 'LabEnclosure' : 'LabBMC';
