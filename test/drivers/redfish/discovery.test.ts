import { expect, it } from 'vitest';
import { AddressGuard } from '../../../src/core/address-guard.ts';
import { Discovery } from '../../../src/drivers/discovery.ts';
import { startRedfish } from '../../lab/redfish.ts';

it('a service that is gone is not found any more, and nobody stays logged in', async () => {
  const lab = await startRedfish({ count: 1, prefix: '127.111', kinds: ['plain'] });
  const discovery = new Discovery(new AddressGuard(undefined));
  const signal = new AbortController().signal;
  const account = { username: 'admin', password: 'secret' };
  const search = () => discovery.search(lab.addresses, ['redfish'], account, signal);
  expect(await search()).toMatchObject([{ kind: 'redfish', model: 'LabServer 2000' }]);
  await lab.fault(0, { dead: 'refused' });
  expect(await search()).toEqual([]);
  await lab.fault(0, { dead: false });
  expect(await search()).toHaveLength(1);
  await discovery.close();
  expect(await lab.openSessions()).toBe(0);
  await lab.stop();
});
