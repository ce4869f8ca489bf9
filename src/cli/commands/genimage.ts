import { told } from '../familiar.ts';
import type { CliCommand } from '../invocation.ts';
import { referenceVersion } from '../lines.ts';
import { isDefined, workOnImage } from '../images.ts';
import { parseOptions } from '../options.ts';

const usage = `Usage: genimage IMAGE

  Builds the root of an image from its lists.
  --dryrun   only say what would be done`;

export const command: CliCommand = {
  usage,
  async run(invocation) {
    const { stdout, stderr } = invocation;
    const options = parseOptions(
      invocation.argv,
      {
        'help|h|?': 'flag',
        'version|v': 'flag',
        dryrun: 'flag',
        a: 'value',
        o: 'value',
        p: 'value',
        i: 'value',
        n: 'value',
        r: 'value',
        k: 'value',
        g: 'value',
        m: 'value',
        l: 'value',
        t: 'value',
        interactive: 'flag',
        onlyinitrd: 'flag',
        permission: 'value',
        ignorekernelchk: 'flag',
        noupdate: 'flag',
        tempfile: 'value',
      },
      { unbundled: true },
    );
    for (const unknown of options.unknown) stderr.line(`Unknown option: ${unknown}`);
    if (options.unknown.length > 0) return told({ stdout }, usage, 1);
    if (options.flag('help')) return told({ stdout }, usage);
    if (options.flag('version')) return told({ stdout }, `Version ${referenceVersion}`);
    const [image] = options.operands;
    if (image === undefined) return told({ stdout }, usage, 1);
    stdout.line('Generating image: ');
    if (!(await isDefined(invocation, image))) return 1;
    if (options.flag('dryrun'))
      return told({ stdout }, `muster would build ${image}; lsdef -t osimage -o ${image} shows from what.`);
    return workOnImage(invocation, image, 'gen');
  },
};
