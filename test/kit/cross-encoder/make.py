# Makes the tiny cross-encoder beside this file. Its score can be checked by counting: the logit of a pair is the number
# of query tokens that the passage has, minus a sixteenth of the tokens of the passage's segment, its [SEP] included.
# `pip install onnx==1.23.2 && python test/kit/cross-encoder/make.py`; the tests read the stored files only.
import json
from pathlib import Path

import onnx
from onnx import TensorProto, helper, numpy_helper
import numpy as np

HERE = Path(__file__).parent
POSITIONS = 64
SPECIAL = ['[PAD]', '[UNK]', '[CLS]', '[SEP]']
WORDS = 'a and bread butter captain commands dough harbour in island knead let nautilus nemo of on ocean rise sails ship submarine the under white whale'.split()


def scalar(name, value, dtype):
    return numpy_helper.from_array(np.array(value, dtype=dtype), name)


def graph():
    shape = ['batch', 'tokens']
    inputs = [helper.make_tensor_value_info(name, TensorProto.INT64, shape) for name in ('input_ids', 'attention_mask', 'token_type_ids')]
    output = helper.make_tensor_value_info('logits', TensorProto.FLOAT, ['batch', 1])
    constants = [
        scalar('zero', 0, np.int64), scalar('one', 1, np.int64), scalar('last_special', len(SPECIAL) - 1, np.int64),
        scalar('axis_1', [1], np.int64), scalar('axis_2', [2], np.int64), scalar('share', 1 / 16, np.float32),
        scalar('position_table', [0] * POSITIONS, np.float32),
    ]
    to_float = {'to': TensorProto.FLOAT}
    steps = [
        ('Equal', ['attention_mask', 'one'], 'is_there', {}),
        ('Equal', ['token_type_ids', 'zero'], 'is_first', {}),
        ('Equal', ['token_type_ids', 'one'], 'is_second', {}),
        ('Greater', ['input_ids', 'last_special'], 'is_word', {}),
        ('And', ['is_there', 'is_second'], 'in_passage', {}),
        ('And', ['is_there', 'is_first'], 'in_query', {}),
        ('And', ['in_query', 'is_word'], 'query_words', {}),
        ('And', ['in_passage', 'is_word'], 'passage_words', {}),
        ('Cast', ['query_words'], 'query_ones', to_float),
        ('Cast', ['passage_words'], 'passage_ones', to_float),
        ('Cast', ['in_passage'], 'segment_ones', to_float),
        ('Unsqueeze', ['input_ids', 'axis_2'], 'ids_down', {}),
        ('Unsqueeze', ['input_ids', 'axis_1'], 'ids_across', {}),
        ('Equal', ['ids_down', 'ids_across'], 'same', {}),
        ('Cast', ['same'], 'same_ones', to_float),
        ('Unsqueeze', ['passage_ones', 'axis_1'], 'passage_across', {}),
        ('Mul', ['same_ones', 'passage_across'], 'found', {}),
        ('ReduceMax', ['found'], 'has', {'axes': [2], 'keepdims': 0}),
        ('Mul', ['has', 'query_ones'], 'hits', {}),
        ('ReduceSum', ['hits', 'axis_1'], 'hit_count', {'keepdims': 1}),
        ('ReduceSum', ['segment_ones', 'axis_1'], 'segment_length', {'keepdims': 1}),
        ('Mul', ['segment_length', 'share'], 'penalty', {}),
        ('Sub', ['hit_count', 'penalty'], 'counted', {}),
        # As in real models, a sequence that is longer than the table of positions cannot be run.
        ('CumSum', ['attention_mask', 'one'], 'ranks', {}),
        ('Sub', ['ranks', 'one'], 'positions', {}),
        ('Gather', ['position_table', 'positions'], 'position_values', {}),
        ('ReduceSum', ['position_values'], 'nothing', {'keepdims': 0}),
        ('Add', ['counted', 'nothing'], 'logits', {}),
    ]
    nodes = [helper.make_node(op, given, [made], **attributes) for op, given, made, attributes in steps]
    return helper.make_graph(nodes, 'overlap', inputs, [output], constants)


def tokenizer():
    special = lambda token, segment: {'SpecialToken': {'id': token, 'type_id': segment}}
    sequence = lambda name, segment: {'Sequence': {'id': name, 'type_id': segment}}
    names = {token: {'id': token, 'ids': [SPECIAL.index(token)], 'tokens': [token]} for token in ('[CLS]', '[SEP]')}
    added = [{'id': i, 'content': token, 'single_word': False, 'lstrip': False, 'rstrip': False, 'normalized': False, 'special': True} for i, token in enumerate(SPECIAL)]
    return {
        'version': '1.0',
        # A real folder may have truncation and padding on; the server has to override both.
        'truncation': {'direction': 'Right', 'max_length': 16, 'strategy': 'LongestFirst', 'stride': 0},
        'padding': {'strategy': {'Fixed': 16}, 'direction': 'Right', 'pad_to_multiple_of': None, 'pad_id': 0, 'pad_type_id': 0, 'pad_token': '[PAD]'},
        'added_tokens': added,
        'normalizer': {'type': 'BertNormalizer', 'clean_text': True, 'handle_chinese_chars': True, 'strip_accents': None, 'lowercase': True},
        'pre_tokenizer': {'type': 'BertPreTokenizer'},
        'post_processor': {
            'type': 'TemplateProcessing',
            'single': [special('[CLS]', 0), sequence('A', 0), special('[SEP]', 0)],
            'pair': [special('[CLS]', 0), sequence('A', 0), special('[SEP]', 0), sequence('B', 1), special('[SEP]', 1)],
            'special_tokens': names,
        },
        'decoder': {'type': 'WordPiece', 'prefix': '##', 'cleanup': True},
        'model': {'type': 'WordPiece', 'unk_token': '[UNK]', 'continuing_subword_prefix': '##', 'max_input_chars_per_word': 100, 'vocab': {token: i for i, token in enumerate(SPECIAL + WORDS)}},
    }


def write(name, value):
    (HERE / name).write_text(json.dumps(value, indent=1) + '\n')


model = helper.make_model(graph(), opset_imports=[helper.make_opsetid('', 17)], ir_version=8, producer_name='sheaf')
onnx.checker.check_model(model)
(HERE / 'onnx').mkdir(exist_ok=True)
onnx.save(model, HERE / 'onnx' / 'model.onnx')
write('tokenizer.json', tokenizer())
write('tokenizer_config.json', {'model_max_length': POSITIONS, 'tokenizer_class': 'BertTokenizer'})
write('config.json', {'model_type': 'bert', 'max_position_embeddings': POSITIONS, 'num_labels': 1})
