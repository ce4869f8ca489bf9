import { everyNode, noArguments, noLine, query } from './command.ts';

/** Addresses that machines have been given by DHCP for a time. */
export const lsleases = query({
  name: 'lsleases',
  args: noArguments,
  uses: ['dhcp'],
  line: noLine,
  select: () => everyNode,
  async run(_snapshot, _args, { dhcp }) {
    const leases = await dhcp.leases();
    return {
      shape: 'value',
      value: leases
        .toSorted((a, b) => (a.address < b.address ? -1 : 1))
        .map(({ expires, ...lease }) => ({ ...lease, expires: new Date(expires * 1_000).toISOString() })),
    };
  },
});
