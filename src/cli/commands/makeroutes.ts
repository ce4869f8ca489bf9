import { withHelp } from '../with-help.ts';

export const command = withHelp(
  `Usage: makeroutes

  muster sets no routes; the postscript of a site does.`,
  async ({ client, stdout, stderr }) => {
    const site = (await client.get('/globalconf/attrs/mnroutenames')) as { clustersite?: { mnroutenames?: string } };
    if (!site.clustersite?.mnroutenames) {
      stdout.line('No routes defined in the site.mnroutenames for the management node.');
      return 0;
    }
    stderr.line('Error: muster sets no routes; take site.mnroutenames away, or set them on the machine itself.');
    return 1;
  },
);
