/** Without the endings that differ from one sentence to the next: `nodes` and `node`, `expired` and `expires` are one word. */
function stemOf(word: string): string {
  const shorter = word.replace(/^(.{3,}?)(?:ies|es|s|ed|ing|ion|e|y)$/, '$1');
  return shorter === word ? word : stemOf(shorter);
}

/** The words of a text in their order. What is joined by dots or dashes, as `hardware.networks`, is one word and its parts. */
export const stemsOf = (text: string): string[] =>
  [...text.toLowerCase().matchAll(/[\p{L}\p{N}_]+(?:[.-][\p{L}\p{N}_]+)*/gu)].flatMap(([word]) => {
    const parts = word.split(/[.-]/);
    return (parts.length > 1 ? [word, ...parts] : parts).map(stemOf);
  });

const fillers = new Set(
  stemsOf(`a about all an and another any are as at be by can do does for from get has have how i in into is it its me my of on one or our
    should that the their there this to use using was we what when where which why will with you your`),
);

/** Whether a word says nothing about what is asked for. */
export const isFiller = (word: string): boolean => fillers.has(word);

/** Words of administrators, each line for one thing. */
const sameMeaning = [
  'vm virtual kvm',
  'migrate move',
  'delete remove',
  'add create new define make',
  'reboot restart reset cycle',
  'shutdown stop off',
  'forgot lost change',
  'expired valid renew',
  'corrupt damaged broken missing',
  'mainboard hardware',
  'slow speed',
  'temperature temp sensor vitals',
  'user account',
  'permission right policy',
  'console serial rcons',
  'ssl tls certificate cert',
  'pxe ipxe netboot',
  'ilo idrac ipmi bmc',
  'iso dvd medium media',
  'kickstart preseed autoinstall template',
  'upgrade update',
  'stuck hang boot',
  'undo revert back',
  'hostname name',
  'noderange range',
  'log journal',
].map(stemsOf);

/** Other words for the same thing. */
export const alternativesTo = (word: string): string[] =>
  sameMeaning.flatMap((group) => (group.includes(word) ? group.filter((other) => other !== word) : []));
