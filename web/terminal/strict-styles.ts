// xterm.js writes its styles into style elements, and colors of characters into attributes. The policy of the page refuses both, and makes no
// exception. Here they become style sheets and properties that scripts set: these say the same.

/** In the place of a style element: what is written into it becomes a style sheet of the page. */
function sheetHolder(): HTMLElement {
  const holder = Document.prototype.createElement.call(document, 'template');
  const sheet = new CSSStyleSheet();
  document.adoptedStyleSheets.push(sheet);
  Object.defineProperty(holder, 'textContent', {
    set(css: string) {
      sheet.replaceSync(css);
    },
  });
  holder.remove = () => {
    document.adoptedStyleSheets = document.adoptedStyleSheets.filter((each) => each !== sheet);
    Element.prototype.remove.call(holder);
  };
  return holder;
}

function setAttribute(this: HTMLElement, name: string, value: string): void {
  if (name === 'style') this.style.cssText = value;
  else Element.prototype.setAttribute.call(this, name, value);
}

function createElement(name: string, options?: ElementCreationOptions): HTMLElement {
  if (name === 'style') return sheetHolder();
  const element = Document.prototype.createElement.call(document, name, options);
  if (name === 'span') element.setAttribute = setAttribute;
  return element;
}

/** For the whole page: xterm.js reaches the document in several ways, of which its option `documentOverride` covers one. */
export const keepPolicy = (): void =>
  void Object.defineProperty(document, 'createElement', { value: createElement, configurable: true });
