// Bytes of a text file to a string, without losing a character on the way. Pure.
import { isUtf8 } from 'node:buffer';

/**
 * Windows-1252 differs from Latin-1 in these bytes only, 0x80 to 0x9f (WHATWG Encoding Standard: none is unassigned).
 */
const WINDOWS_1252_HIGH = '€\x81‚ƒ„…†‡ˆ‰Š‹Œ\x8dŽ\x8f\x90‘’“”•–—˜™š›œ\x9džŸ';

/**
 * How much of a page is looked at for its charset (the HTML standard asks for 1024 bytes, which some pages overrun).
 */
const CHARSET_WITHIN_BYTES = 65_536;
/** What is read as windows-1252 anyway, and what no page can be in that says so in ASCII. */
const NO_CHOICE = /^(windows-1252|cp1252|iso-?8859-1|latin-?1|(us-)?ascii|utf-?16.*)$/i;

/**
 * The text of `bytes`. A byte order mark decides between UTF-16 LE, UTF-16 BE and UTF-8, and is dropped; without one
 * the text is UTF-8 where the bytes are valid UTF-8, else windows-1252, in which every byte is a character. NUL and
 * other control characters stay as they are. What UTF-16 cannot mean (a lone surrogate, an odd last byte) becomes
 * U+FFFD, so the result is always well-formed. Throws RangeError or ERR_STRING_TOO_LONG for bytes beyond the longest
 * string (half a GiB).
 */
export function decodeText(bytes: Uint8Array): string {
  if (startsWith(bytes, 0xff, 0xfe)) return new TextDecoder('utf-16le').decode(bytes);
  if (startsWith(bytes, 0xfe, 0xff)) return new TextDecoder('utf-16be').decode(bytes);
  if (isUtf8(bytes)) return new TextDecoder('utf-8').decode(bytes);
  return decodeWindows1252(startsWith(bytes, 0xef, 0xbb, 0xbf) ? bytes.subarray(3) : bytes);
}

/**
 * The text of HTML or XHTML: as decodeText, but where the bytes are no UTF-8 and the head of the page names a charset,
 * that one counts, if the bytes are valid in it.
 */
export function decodeMarkup(bytes: Uint8Array): string {
  const hasMark = startsWith(bytes, 0xff, 0xfe) || startsWith(bytes, 0xfe, 0xff);
  if (hasMark || isUtf8(bytes)) return decodeText(bytes);
  const head = Buffer.from(bytes.buffer, bytes.byteOffset, Math.min(bytes.length, CHARSET_WITHIN_BYTES)).toString(
    'latin1',
  );
  const charset = /<(?:meta|\?xml)[^>]*?(?:charset|encoding)\s*=\s*["']?\s*([\w:.-]+)/i.exec(head)?.[1];
  if (charset === undefined || NO_CHOICE.test(charset)) return decodeText(bytes);
  try {
    return new TextDecoder(charset, { fatal: true }).decode(bytes);
  } catch {
    return decodeText(bytes);
  }
}

/**
 * By hand, because TextDecoder('windows-1252') of Node 20.18.3 and later and of most 22 gives Latin-1
 * (nodejs/node#56542).
 */
function decodeWindows1252(bytes: Uint8Array): string {
  const units = new Uint16Array(bytes.length);
  for (let i = 0; i < bytes.length; i++) {
    const byte = bytes[i]!;
    units[i] = byte >= 0x80 && byte < 0xa0 ? WINDOWS_1252_HIGH.charCodeAt(byte - 0x80) : byte;
  }
  return Buffer.from(units.buffer).toString('utf16le');
}

function startsWith(bytes: Uint8Array, ...head: number[]): boolean {
  return head.every((byte, i) => bytes[i] === byte);
}
