import {
  actOnDomain,
  domainState,
  domainStatistics,
  domainXml,
  findDomain,
  followDomains,
  type LifecycleEvent,
  listDomains,
  openDriver,
  statistics,
} from '../../../src/protocols/libvirt/calls/domains.ts';
import {
  createVolume,
  deleteVolume,
  findPool,
  findVolume,
  poolRoom,
  poolXml,
  refreshPool,
  volumePath,
} from '../../../src/protocols/libvirt/calls/storage.ts';
import type { LibvirtConnection } from '../../../src/protocols/libvirt/connection.ts';

const options = { signal: new AbortController().signal };

const volumeXml = `<volume><name>v1</name><capacity unit='MiB'>8</capacity></volume>`;

/** All that the driver `test` of libvirt can answer, in one order, with what was heard. */
export async function converse(connection: LibvirtConnection) {
  const events: LifecycleEvent[] = [];
  await openDriver(connection, 'test:///default', options);
  await followDomains(connection, (event) => events.push(event), options);
  const [domain] = await listDomains(connection, options);
  const found = await findDomain(connection, { name: 'test' }, options);
  const byUuid = await findDomain(connection, { uuid: domain!.uuid }, options);
  const absent = await findDomain(connection, { name: 'absent' }, options);
  const state = await domainState(connection, domain!, options);
  const stats = await domainStatistics(connection, statistics.state, [domain!], options);
  await actOnDomain(connection, 'destroy', domain!, options);
  const refusal = await actOnDomain(connection, 'destroy', domain!, options).catch((error: unknown) => error);
  await actOnDomain(connection, 'start', domain!, options);
  const xml = await domainXml(connection, domain!, 'next start', options);
  const pool = await findPool(connection, { name: 'default-pool' }, options);
  await refreshPool(connection, pool!, options);
  const volume = await createVolume(connection, pool!, volumeXml, options);
  const path = await volumePath(connection, volume, options);
  await deleteVolume(connection, volume, options);
  const gone = await findVolume(connection, pool!, 'v1', options);
  const room = await poolRoom(connection, pool!, options);
  const shape = await poolXml(connection, pool!, options);
  return {
    room,
    shape,
    domain,
    found,
    byUuid,
    absent,
    state,
    stats,
    refusal,
    xml,
    events,
    pool,
    volume,
    path,
    gone,
  };
}
