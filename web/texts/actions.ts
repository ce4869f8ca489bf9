// What the questions before actions on nodes say.

export const texts = {
  power: {
    on: { label: 'Power on' },
    softoff: { label: 'Shut down', harm: 'The operating systems of these nodes shut down, and their work ends.' },
    off: {
      label: 'Power off',
      harm: 'These nodes lose power at once. Their work ends, and what is not written is lost.',
    },
    reset: { label: 'Reset', harm: 'These nodes restart at once. Their work ends, and what is not written is lost.' },
    cycle: {
      label: 'Power cycle',
      harm: 'These nodes lose power and start again. Their work ends, and what is not written is lost.',
    },
  },
  copy: {
    files: 'Files of this computer',
    target: 'Place on the nodes',
    targetHelp:
      'A path that ends with / is a directory, which is made if it is missing. Without the slash, a single file gets this name.',
    harm: 'Files of the same names on these nodes are replaced.',
  },
  update: {
    what: 'What to bring up to date',
    scripts: 'Postscripts, with commas between them; empty: those of each node',
    harm: 'Packages and scripts may restart services on these nodes.',
    choices: {
      updating: 'Everything: files, packages, postscripts',
      filesyncing: 'Files of the synclists of their images',
      sw: 'Packages of their images',
      postscript: 'Postscripts',
    },
  },
  firmware: {
    none: 'No BMC has shown its firmware yet.',
    from: 'Image',
    fromAddress: 'an address, from which the BMCs fetch it',
    fromFile: 'a file of this computer',
    address: 'Address',
    file: 'File',
    component: 'Component',
    componentHelp: 'What the image is for; empty: the BMC finds out.',
    version: 'Version of the image',
    versionHelp: 'Nodes that have it get nothing; a node that does not have it in the end has failed.',
    apply: 'When it is applied',
    times: {
      now: 'now: as soon as the BMC has it',
      'on-reset': 'when the machine, or the BMC, restarts next',
      'at-maintenance': 'in the maintenance window that is set at the BMC',
      'on-start': 'later: with muster rflash --start',
    },
    harm: 'A wrong image can make a machine useless. Applied now, it may restart the BMC, and on some machines the host as well.',
  },
  bios: {
    against: 'What these nodes are to have',
    asNode: 'the settings of another node',
    asProfile: 'a profile',
    node: 'Node',
    profile: 'Profile in YAML or JSON, as muster bios save writes it',
    fromFile: 'Read it from a file',
    when: 'When it takes effect',
    times: { restart: 'when the machine restarts next', now: 'at once, where the BIOS can' },
    same: 'All nodes that answered have these settings.',
    missing: 'no such setting',
    harm: 'Wrong settings can keep a machine from booting.',
  },
} as const;
