import { everyNode, noArguments, noLine, query } from './command.ts';

/** What the server finds when it looks at itself and its machine. It names directories, addresses and some nodes. */
export const doctor = query({
  name: 'doctor',
  args: noArguments,
  uses: ['selfCheck'],
  line: noLine,
  select: () => everyNode,
  async run(_snapshot, _args, { selfCheck }) {
    const { logFile } = selfCheck;
    return {
      shape: 'value',
      value: { findings: await selfCheck.run(), ...(logFile === undefined ? {} : { logFile }) },
    };
  },
});
