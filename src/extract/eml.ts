// Extracts text from mail with postal-mime: the main header lines, the body, and the names of attachments. Attachments
// are not read; they can be ingested as files.
import PostalMime, { type Address, type Email } from 'postal-mime';
import { AppError } from '../api/errors.js';
import { type Budget, type Flow, clipTitle, flowOf } from './extracted.js';
import { readHtml } from './html.js';

const LIMITS = { maxNestingDepth: 64, maxHeadersSize: 1024 * 1024 };

/** The subject is the heading. Throws AppError `file_unreadable` if there are no mail headers. */
export async function readEml(bytes: Uint8Array, budget: Budget): Promise<Flow> {
  let email: Email;
  try {
    email = await PostalMime.parse(bytes, LIMITS);
  } catch {
    throw new AppError('file_unreadable');
  }
  const { subject, text, html } = email;
  if (!email.headers.some(({ key }) => /^(from|to|subject|date|received|message-id|mime-version)$/.test(key)))
    throw new AppError('file_unreadable');
  const body = text?.trim() ? budget.spendText(text.trim()) : html ? readHtml(html, budget).text : '';
  const attached = email.attachments.flatMap(({ filename }) => filename ?? []);
  if (body === '' && attached.length === 0 && !subject?.trim()) throw new AppError('no_text_extracted');
  const head = budget.spendText(headOf(email));
  const foot = attached.length > 0 ? `\n\nAttachments: ${attached.join(', ')}` : '';
  return flowOf(
    `${head}\n\n${body}${foot}`.trim(),
    subject?.trim() ? [{ at: 0, title: clipTitle(subject.trim()) }] : [],
  );
}

function headOf({ subject, from, to, cc, date }: Email): string {
  const lines: [string, string | undefined][] = [
    ['Subject', subject],
    ['From', from && named(from)],
    ['To', to?.map(named).join(', ')],
    ['Cc', cc?.map(named).join(', ')],
    ['Date', date],
  ];
  return lines.flatMap(([name, value]) => (value?.trim() ? `${name}: ${value.trim()}` : [])).join('\n');
}

const named = ({ name, address, group }: Address): string =>
  group ? `${name}: ${group.map(named).join(', ')}` : name && address ? `${name} <${address}>` : name || address || '';
