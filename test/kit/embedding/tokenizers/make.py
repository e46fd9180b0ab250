# Makes the tokenizers beside this file, and expected.json: the ids that the reference implementation gives for odd
# texts, whose leading and trailing spaces are removed as sentence-transformers does.
# Run once, from the project: pip install tokenizers==0.23.3; python3 test/kit/embedding/tokenizers/make.py
import json
from pathlib import Path
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

HERE = Path(__file__).parent
SHARED = HERE.parents[4] / '../shared/data'
CORPUS = [json.loads(line)['text'] for line in open(SHARED / 'cranfield/corpus.jsonl', encoding='utf8')][:400]
SPECIAL = ['<s>', '<pad>', '</s>', '<unk>']
TEXTS = [
    'the boundary layer of a wing', ' Leading and  double  spaces ', 'UPPER, lower; Mixed-Case!', "don't can't we're it's",
    'numbers 3.14159 and 2,000 and 1e-4', 'naïve café Straße', 'e\u0301 decomposed, \u00e9 composed', 'ﬁne ½ ²', '数据库 検索 검색', 'ภาษาไทย العربية',
    'emoji 👩🏽\u200d💻 and 🇳🇴', 'tab\there\nnew line\r\nend', '\u00a0no-break\u3000wide', 'zero\u200bwidth\u00adsoft', '', ' ', '\n\n',
    'a' * 120, 'supersonicaerodynamicheating', '<s> spelled </s> out <pad>', '[CLS] spelled [SEP] out', 'a\u0000b', '!!!???...', '_under_score_ and $100 & 50%',
    'https://example.org/path?query=1#frag', 'The quick brown fox jumps over the lazy dog. ' * 3,
]


def byte_level_bpe():
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.train_from_iterator(CORPUS, trainers.BpeTrainer(vocab_size=800, special_tokens=SPECIAL, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False))
    tokenizer.post_processor = processors.RobertaProcessing(('</s>', 2), ('<s>', 0), add_prefix_space=False)
    return tokenizer


def unigram():
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.normalizer = normalizers.Sequence([normalizers.NFKC(), normalizers.Replace(' {2,}', ' ')])
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.decoder = decoders.Metaspace()
    tokenizer.train_from_iterator(CORPUS, trainers.UnigramTrainer(vocab_size=800, special_tokens=SPECIAL, unk_token='<unk>', show_progress=False))
    tokenizer.post_processor = processors.TemplateProcessing('<s> $A </s>', '<s> $A </s> </s> $B </s>', [('<s>', 0), ('</s>', 2)])
    return tokenizer


def word_piece():
    tokenizer = Tokenizer.from_file(str(SHARED / 'model-minilm-l6/tokenizer.json'))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


def write(name, value):
    (HERE / name).write_text(json.dumps(value, ensure_ascii=False, separators=(',', ':')) + '\n', encoding='utf8')


made = {'bpe': byte_level_bpe(), 'unigram': unigram()}
for name, tokenizer in made.items():
    (HERE / name).mkdir(exist_ok=True)
    write(f'{name}/tokenizer.json', json.loads(tokenizer.to_str()))
expected = {name: [tokenizer.encode(text.strip()).ids for text in TEXTS] for name, tokenizer in {**made, 'word-piece': word_piece()}.items()}
write('expected.json', {'texts': TEXTS, **expected})
