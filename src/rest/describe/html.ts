/** Text that is HTML already; everything else that goes into a page is escaped. */
export class Html {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

export type Content = Html | string | number | readonly Content[];

/** A piece of HTML. What is put in is escaped unless it was made by this function; lists are put in one after another. */
export const html = (parts: TemplateStringsArray, ...contents: readonly Content[]): Html =>
  new Html(parts.reduce((made, part, position) => made + rendered(contents[position - 1]!) + part));

export const nothing = new Html('');

function rendered(content: Content): string {
  if (content instanceof Html) return content.text;
  if (typeof content === 'object') return content.map(rendered).join('');
  return escapeHtml(String(content));
}

const escapes: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

const escapeHtml = (text: string): string => text.replaceAll(/[&<>"']/g, (character) => escapes[character]!);
