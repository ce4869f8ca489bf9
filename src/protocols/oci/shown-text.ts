/** What others wrote, for a sentence: short, and without what a terminal would act on. */
export function shownText(text: string): string {
  // oxlint-disable-next-line no-control-regex -- they are what is looked for
  const plain = text.replaceAll(/[\x00-\x1f\x7f-\x9f\u2028\u2029]+/g, ' ').trim();
  return plain.length > 200 ? `${plain.slice(0, 200)}...` : plain;
}
