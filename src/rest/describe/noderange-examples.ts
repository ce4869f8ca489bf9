/** The node range in ten lines. */
export const noderangeExamples: readonly { readonly range: string; readonly meaning: string }[] = [
  { range: 'n1', meaning: 'one node' },
  { range: 'compute', meaning: 'the members of a group' },
  { range: 'n1,n7,rack2', meaning: 'everything in the list' },
  { range: 'n1-n20', meaning: 'n1 to n20; n1:n20 is the same, and n001-n020 keeps the zeros' },
  { range: 'f[1-2]n[1-3,7]', meaning: 'numbers in brackets, every combination: f1n1 to f2n7' },
  { range: 'n8+4', meaning: 'n8 and the four after it' },
  { range: 'compute,-n7', meaning: 'the group without n7; what is excluded stays out, wherever it stands' },
  { range: '(rack1,rack2)@compute', meaning: 'those of both racks that are also in compute' },
  {
    range: 'nodetype.os=~^rhel',
    meaning: 'nodes by an attribute: ==, !=, and =~, !~ with a pattern; mgt and groups need no table',
  },
  { range: '/n[12]\\d', meaning: 'a pattern for the whole name; in a path the slash is written %2F' },
];
