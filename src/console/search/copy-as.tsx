// A search as a command or a program, to copy.
import { useState } from 'preact/hooks';
import { LANGUAGES, type SnippetLanguage, type SnippetOf, snippetOf } from './snippets.js';

export function CopyAs({ search }: { search: SnippetOf }) {
  const [language, setLanguage] = useState<SnippetLanguage>('curl');
  const [copied, setCopied] = useState('');
  const text = snippetOf(language, search);
  const copy = () =>
    void navigator.clipboard.writeText(text).then(
      () => setCopied(text),
      // The page may not write to the clipboard where it is not served by HTTPS or from this machine.
      () => setCopied(''),
    );
  return (
    <details class="fold copy-as">
      <summary>Copy as code</summary>
      <div class="tools">
        {LANGUAGES.map((each) => (
          <button type="button" aria-pressed={each === language} onClick={() => setLanguage(each)}>
            {each}
          </button>
        ))}
        <span class="grow" />
        <button type="button" class="main" onClick={copy}>
          {copied === text ? 'Copied' : 'Copy'}
        </button>
      </div>
      <pre tabIndex={0} aria-label={`The search in ${language}`}>
        {text}
      </pre>
    </details>
  );
}
