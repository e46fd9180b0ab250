// How the type of a file is determined: by its signature, then its extension, then the declared type, then its
// contents.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { kindOfFile } from '../../../src/extract/file-kind.js';

const kind = (name: string, type: string, head: string | Uint8Array): string | undefined =>
  kindOfFile(name, type, Buffer.from(head as string));

test('the extension comes before the declared type, and that before the contents', () => {
  assert.equal(kind('a.csv', 'text/html', 'x'), 'csv');
  assert.equal(kind('A.HTM', '', 'x'), 'html');
  assert.equal(kind('a.dat', 'Text/HTML; charset=utf-8', 'x'), 'html');
  assert.equal(kind('page', '', '\ufeff\n<!DOCTYPE html><p>'), 'html');
  assert.equal(kind('main.rs', 'application/octet-stream', 'fn main() {}'), 'text');
  assert.equal(kind('a.md', 'text/plain', '# x'), 'markdown');
  assert.equal(kind('', '', ''), 'text');
});

test('a signature in the bytes overrides any name', () => {
  assert.equal(kind('a.txt', 'text/plain', '%PDF-1.4\n'), 'pdf');
  assert.equal(kind('a.pdf', '', 'junk\n%PDF-1.4\n1 0 obj'), 'pdf');
  assert.equal(kind('a.html', '', 'PK\x03\x04....'), 'package');
  assert.equal(kind('a.docx', '', Buffer.from('d0cf11e0a1b11ae1', 'hex')), 'ole');
});

test('a text that mentions PDF is a text', () => {
  assert.equal(kind('a.txt', '', 'The header is %PDF-1.4\n and 1 0 obj follows'), 'text');
  assert.equal(kind('a.md', '', '# Notes\n%PDF-1.4\n1 0 obj'), 'markdown');
});

test('binary bytes and foreign formats are no type', () => {
  for (const head of [
    'MZ\0\0',
    '{\\rtf1 hello}',
    '%!PS-Adobe-3.0',
    Buffer.from([0x1f, 0x8b, 8, 8]),
    Buffer.from([0xff, 0xd8, 0xff, 0xe0]),
  ]) {
    for (const name of ['a.txt', 'a.html', 'a.csv', 'a', 'constructor', 'a.__proto__'])
      assert.equal(kind(name, '', head), undefined, name);
  }
});

test('a name with the extension of a structured format is believed', () => {
  assert.equal(kind('a.pdf', '', 'text'), 'pdf');
  assert.equal(kind('a.xlsx', '', 'a,b'), 'package');
  assert.equal(kind('a.json', '', '{"a":\0}'), 'json');
});
