// What a page does by itself: the reference page searches itself and lets its reader choose a language for examples; buttons copy
// examples. Without it every page is complete.
const find = (selector, within = document) => [...within.querySelectorAll(selector)];

// The smallest pieces that are shown or not: calls, attributes, and sections that have neither.
const pieces = [
  ...find('article, .attributes tbody tr'),
  ...find('main > section').filter((section) => !section.querySelector('article, .attributes')),
].map((element) => ({ element, text: textOf(element).toLowerCase() }));

// Words of the programs are in every call.
function textOf(element) {
  return find('.python, .javascript', element).reduce(
    (text, program) => text.replace(program.textContent, () => ''),
    element.textContent,
  );
}

const wholes = [...find('.attributes'), ...find('main > section')];
const entries = find('nav li a').map((link) => ({
  link,
  target: document.getElementById(link.getAttribute('href').slice(1)),
}));
const groups = find('nav details details');

function search(words) {
  for (const { element, text } of pieces) element.hidden = !words.every((word) => text.includes(word));
  for (const whole of wholes) {
    const inner = find('article, .attributes tbody tr', whole);
    if (inner.length > 0) whole.hidden = inner.every(({ hidden }) => hidden);
  }
  for (const { link, target } of entries) link.parentElement.hidden = target.hidden;
  for (const group of groups) {
    group.hidden = find('li', group).every(({ hidden }) => hidden);
    group.open = words.length > 0;
  }
  document.getElementById('nothing-found').hidden = pieces.some(({ element }) => !element.hidden);
}

const box = document.getElementById('search');
if (box) {
  box.parentElement.hidden = false;
  box.addEventListener('input', () => search(box.value.toLowerCase().split(/\s+/).filter(Boolean)));
  // A link to something that the search hides must lead there.
  window.addEventListener('hashchange', () => {
    const target = document.getElementById(location.hash.slice(1));
    if (!target?.closest('[hidden]')) return;
    box.value = '';
    search([]);
    target.scrollIntoView();
  });
}

// The list of contents fills a small screen: there it opens when it is asked for. A link of it leads away from it.
const contents = document.querySelector('.contents');
const small = window.matchMedia('(max-width: 52rem)');
const fold = () => (contents.open = !small.matches);
fold();
small.addEventListener('change', fold);
for (const link of find('a', contents)) link.addEventListener('click', fold);

// The attribute of the root decides which language the style shows.
const remembered = 'muster.language';
const root = document.documentElement;
const tabs = [];

function newButton(text) {
  const button = document.createElement('button');
  button.type = 'button';
  button.textContent = text;
  return button;
}

function choose(language) {
  root.dataset.language = language;
  for (const { tab, name } of tabs) tab.setAttribute('aria-pressed', String(name === language));
}

for (const figure of find('.request')) {
  const caption = figure.querySelector('figcaption');
  caption.textContent = '';
  for (const sample of find('details', figure)) {
    const name = sample.className;
    const tab = newButton(sample.querySelector('summary').textContent);
    sample.open = true;
    tab.addEventListener('click', () => {
      // What is above gets longer or shorter: the call that is read stays where it is.
      const before = figure.getBoundingClientRect().top;
      choose(name);
      window.scrollBy({ top: figure.getBoundingClientRect().top - before, behavior: 'instant' });
      try {
        window.localStorage.setItem(remembered, name);
      } catch {
        // Then it holds for this page.
      }
    });
    tabs.push({ tab, name });
    caption.append(tab);
  }
}

function rememberedLanguage() {
  try {
    const name = window.localStorage.getItem(remembered);
    return tabs.some((each) => each.name === name) ? name : 'curl';
  } catch {
    return 'curl';
  }
}
choose(rememberedLanguage());

for (const figure of find('figure')) {
  const button = newButton('Copy');
  button.className = 'copy';
  const say = (text) => () => {
    button.textContent = text;
    setTimeout(() => (button.textContent = 'Copy'), 2000);
  };
  button.addEventListener('click', () => {
    const shown = figure.querySelector(`.${root.dataset.language} code`) ?? figure.querySelector('code');
    void navigator.clipboard.writeText(shown.textContent).then(say('Copied'), say('Not allowed'));
  });
  figure.querySelector('figcaption').append(button);
}
