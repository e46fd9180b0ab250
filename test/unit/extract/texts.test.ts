// Markdown, HTML, JSON, JSONL and mail: what is kept, what is left out, and the headings above each chunk.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { read, texts } from '../../kit/extract.js';

test('Markdown stays as it is; each chunk knows its heading, and code is none', async () => {
  const text = `intro\n\n# One #\n\n${'a'.repeat(30)}\n\n\`\`\`sh\n# no heading\n\`\`\`\n\nTwo\n===\n\n${'😀'.repeat(20)}\n\nThree\n-----\nend`;
  const chunks = await read('a.md', text, { chunking: { strategy: 'fixed', size: 16, overlap: 0 } });
  assert.equal(texts(chunks).join(''), text);
  assert.deepEqual([...new Set(chunks.map(({ meta }) => meta.heading))], [undefined, 'One', 'Two', 'Three']);
  const last = chunks.find(({ text: chunk }) => chunk.includes('end'));
  assert.equal(last?.meta.heading, 'Three');
  const whole = await read('a.md', text, { chunking: { strategy: 'none' } });
  assert.deepEqual([whole.length, whole[0]?.path], [1, 'chunk_0']);
});

test('front matter and rules between paragraphs are no headings', async () => {
  const [chunk] = await read('a.md', '---\ntitle: x\n---\n\ntext\n\n---\n\n- item\n---\n');
  assert.equal(chunk?.meta.heading, undefined);
});

test('HTML gives what a reader sees', async () => {
  const html = `<!doctype html><html><head><title>The  title</title><style>p{}</style><script>var a = "<p>no</p>"</script></head><body>
    <nav><a href="/">Home</a></nav><h1>Big &amp; <em>bold</em></h1><p>One<br>two &lt;three&gt; &eacute; <img src=x alt="a picture"></p>
    <p hidden>hidden</p><p style="display:none">gone</p><!-- comment --><ul><li>a<li>b</ul><table><tr><td>1<td>2<tr><td>3</table><pre>  x
   y</pre><button>Press</button></body></html>`;
  const [chunk] = await read('a.html', html);
  assert.equal(chunk?.text, 'The title\n\nBig & bold\n\nOne\ntwo <three> é a picture\n\na\nb\n\n1\t2\n3\n\n  x\n   y');
});

test('headings of HTML travel with the chunks', async () => {
  const chunks = await read(
    'a.html',
    `<h1>One</h1><p>${'a '.repeat(40)}</p><h2>Two\n words</h2><p>${'b '.repeat(40)}</p>`,
    { chunking: { strategy: 'fixed', size: 40, overlap: 0 } },
  );
  assert.deepEqual(
    chunks.map(({ meta }) => meta.heading),
    ['One', 'One', 'One', 'Two words', 'Two words'],
  );
});

test('a page that is navigation alone keeps it; one without text has none', async () => {
  assert.deepEqual(texts(await read('a.html', '<nav><a>Home</a> <a>About</a></nav>')), ['Home About']);
  await assert.rejects(read('a.html', '<script>1</script>'), { code: 'no_text_extracted' });
});

test('HTML in another charset is read by what the page says of itself', async () => {
  const page = Buffer.concat([
    Buffer.from('<meta charset="shift_jis"><p>'),
    Buffer.from([0x93, 0xfa, 0x96, 0x7b]),
    Buffer.from('</p>'),
  ]);
  assert.deepEqual(texts(await read('a.html', page)), ['日本']);
  assert.deepEqual(texts(await read('a.html', Buffer.from('<meta charset="nonsense"><p>café</p>', 'latin1'))), [
    'café',
  ]);
});

test('JSON: a line a field, rows of a list of objects', async () => {
  const [chunk] = await read(
    'a.json',
    '{"title":"Moby Dick","author":{"name":"Melville","born":1819},"tags":["sea","whale"],"empty":null,"ok":true}',
  );
  assert.deepEqual(chunk, {
    path: 'chunk_0',
    text: 'title: Moby Dick\nauthor.name: Melville\nauthor.born: 1819\ntags: sea, whale\nok: true',
    meta: { offset: 0 },
  });
  const rows = await read('a.json', '[{"a":1,"b":[{"c":2},{"c":3}]},{},{"a":4}]');
  assert.deepEqual(rows, [
    { path: 'row_0', text: 'a: 1\nb.c: 2\nb.c: 3', meta: { row: 1 } },
    { path: 'row_2', text: 'a: 4', meta: { row: 3 } },
  ]);
  assert.deepEqual(texts(await read('a.json', '"just text"')), ['just text']);
});

test('JSON: numbers come as they are written, lone surrogates as U+FFFD', async () => {
  assert.deepEqual(
    texts(await read('a.json', '{"id":12345678901234567890,"version":1.10,"n":-0.5,"s":"7.10 \\"1e3\\""}')),
    ['id: 12345678901234567890\nversion: 1.10\nn: -0.5\ns: 7.10 "1e3"'],
  );
  assert.deepEqual(texts(await read('a.json', '["a\\ud800b"]')), ['a\ufffdb']);
});

test('JSON that is cut off, or deeper than anyone reads, is file_unreadable; without words there is no text', async () => {
  for (const text of ['{"a":', 'a', '', `${'['.repeat(100_000)}${']'.repeat(100_000)}`])
    await assert.rejects(read('a.json', text), { code: 'file_unreadable' }, text.slice(0, 10));
  for (const text of ['{}', '[]', 'null', '""'])
    await assert.rejects(read('a.json', text), { code: 'no_text_extracted' }, text);
});

test('JSONL: a row a line; blank lines count and make none; a bad line is told by its number', async () => {
  assert.deepEqual(await read('a.jsonl', '{"a":1}\n\n"text"\r\n'), [
    { path: 'row_0', text: 'a: 1', meta: { row: 1 } },
    { path: 'row_2', text: 'text', meta: { row: 3 } },
  ]);
  await assert.rejects(read('a.jsonl', '{"a":1}\n{'), { code: 'file_unreadable', message: /Line 2/ });
});

const MAIL =
  'From: Ada <ada@example.com>\r\nTo: Bob <bob@example.com>\r\nSubject: =?utf-8?q?Caf=C3=A9?=\r\nMIME-Version: 1.0\r\n';

test('a mail: head, body, names of what is attached', async () => {
  const parts =
    '--x\r\nContent-Type: text/plain; charset=utf-8\r\n\r\nSee you there.\r\n--x\r\nContent-Type: application/pdf\r\nContent-Disposition: attachment; filename="menu.pdf"\r\n\r\nAAAA\r\n--x--\r\n';
  const [chunk] = await read('a.eml', `${MAIL}Content-Type: multipart/mixed; boundary=x\r\n\r\n${parts}`);
  assert.equal(
    chunk?.text,
    'Subject: Café\nFrom: Ada <ada@example.com>\nTo: Bob <bob@example.com>\n\nSee you there.\n\nAttachments: menu.pdf',
  );
  assert.equal(chunk.meta.heading, 'Café');
});

test('a mail in HTML alone is read as HTML; what has no head of a mail is file_unreadable', async () => {
  const [chunk] = await read(
    'a.eml',
    `${MAIL}Content-Type: text/html\r\n\r\n<script>no</script><p>Hello <b>Bob</b></p>`,
  );
  assert.match(chunk?.text ?? '', /\n\nHello Bob$/);
  await assert.rejects(read('a.eml', 'just some text\nwithout a head'), { code: 'file_unreadable' });
});
