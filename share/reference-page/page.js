// What a page does by itself: the reference page searches itself, and buttons copy examples. Without it every page is complete.
const find = (selector, within = document) => [...within.querySelectorAll(selector)];

// The smallest pieces that are shown or not: calls, attributes, and sections that have neither.
const pieces = [
  ...find('article, .attributes tbody tr'),
  ...find('main > section').filter((section) => !section.querySelector('article, .attributes')),
].map((element) => ({ element, text: element.textContent.toLowerCase() }));
const wholes = [...find('.attributes'), ...find('main > section')];
const entries = find('nav li a').map((link) => ({
  link,
  target: document.getElementById(link.getAttribute('href').slice(1)),
}));
const groups = find('nav details');

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

for (const figure of find('figure')) {
  const button = document.createElement('button');
  button.type = 'button';
  button.textContent = 'Copy';
  const say = (text) => () => {
    button.textContent = text;
    setTimeout(() => (button.textContent = 'Copy'), 2000);
  };
  button.addEventListener('click', () => {
    const { textContent } = figure.querySelector('code');
    void navigator.clipboard.writeText(textContent).then(say('Copied'), say('Not allowed'));
  });
  figure.querySelector('figcaption').append(button);
}
