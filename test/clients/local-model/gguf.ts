/** Writes a language model as a GGUF file: real for whatever loads it, with random weights, so its words are noise. */

export interface ModelShape {
  readonly contextLength: number
  readonly embedding: number
  readonly layers: number
  readonly heads: number
  readonly feedForward: number
}

export interface Piece {
  readonly text: string
  /** Which of two merges comes first. */
  readonly score: number
  readonly type: 'normal' | 'unknown' | 'control' | 'byte'
}

const PIECE_TYPES = { normal: 1, unknown: 2, control: 3, byte: 6 } as const
const [UINT32, INT32, FLOAT32, BOOL, STRING, ARRAY] = [4, 5, 6, 7, 8, 9]
const ALIGNMENT = 32

type Value = readonly [type: number, value: unknown]
const text = (value: string): Value => [STRING!, value]
const whole = (value: number): Value => [UINT32!, value]
const real = (value: number): Value => [FLOAT32!, value]
const yes = (value: boolean): Value => [BOOL!, value]
const list = (type: number, values: readonly unknown[]): Value => [ARRAY!, { type, values }]

export function writeModel(shape: ModelShape, pieces: readonly Piece[], seed: number): Buffer {
  const { contextLength, embedding, layers, heads, feedForward } = shape
  const facts: Record<string, Value> = {
    'general.architecture': text('llama'),
    'general.name': text('noise'),
    'llama.context_length': whole(contextLength),
    'llama.embedding_length': whole(embedding),
    'llama.block_count': whole(layers),
    'llama.feed_forward_length': whole(feedForward),
    'llama.attention.head_count': whole(heads),
    'llama.attention.head_count_kv': whole(heads),
    'llama.attention.layer_norm_rms_epsilon': real(1e-5),
    'llama.rope.dimension_count': whole(embedding / heads),
    'llama.vocab_size': whole(pieces.length),
    'tokenizer.ggml.model': text('llama'),
    'tokenizer.ggml.tokens': list(
      STRING!,
      pieces.map((piece) => piece.text),
    ),
    'tokenizer.ggml.scores': list(
      FLOAT32!,
      pieces.map((piece) => piece.score),
    ),
    'tokenizer.ggml.token_type': list(
      INT32!,
      pieces.map((piece) => PIECE_TYPES[piece.type]),
    ),
    'tokenizer.ggml.unknown_token_id': whole(0),
    'tokenizer.ggml.bos_token_id': whole(1),
    'tokenizer.ggml.eos_token_id': whole(2),
    'tokenizer.ggml.add_space_prefix': yes(false),
  }
  const tensors = tensorsOf(shape, pieces.length)
  let offset = 0
  const heading = tensors.map(({ name, dimensions }) => {
    const at = offset
    offset += padded(4 * sizeOf(dimensions))
    return Buffer.concat([
      string(name),
      uint32(dimensions.length),
      ...dimensions.map(uint64),
      uint32(0), // 32-bit floats
      uint64(at),
    ])
  })
  const head = Buffer.concat([
    Buffer.from('GGUF'),
    uint32(3),
    uint64(tensors.length),
    uint64(Object.keys(facts).length),
    ...Object.entries(facts).map(([key, [type, value]]) =>
      Buffer.concat([string(key), uint32(type), encode(type, value)]),
    ),
    ...heading,
  ])
  const random = noise(seed)
  return Buffer.concat([
    head,
    Buffer.alloc(padded(head.length) - head.length),
    ...tensors.map((tensor) => weights(tensor, random)),
  ])
}

interface Tensor {
  readonly name: string
  readonly dimensions: readonly number[]
}

function tensorsOf({ embedding, layers, feedForward }: ModelShape, words: number): readonly Tensor[] {
  const layer = (n: number): Tensor[] =>
    [
      { name: 'attn_norm', dimensions: [embedding] },
      ...['attn_q', 'attn_k', 'attn_v', 'attn_output'].map((name) => ({ name, dimensions: [embedding, embedding] })),
      { name: 'ffn_norm', dimensions: [embedding] },
      { name: 'ffn_gate', dimensions: [embedding, feedForward] },
      { name: 'ffn_up', dimensions: [embedding, feedForward] },
      { name: 'ffn_down', dimensions: [feedForward, embedding] },
    ].map(({ name, dimensions }) => ({ name: `blk.${n}.${name}.weight`, dimensions }))
  return [
    { name: 'token_embd.weight', dimensions: [embedding, words] },
    ...Array.from({ length: layers }, (_, n) => layer(n)).flat(),
    { name: 'output_norm.weight', dimensions: [embedding] },
    { name: 'output.weight', dimensions: [embedding, words] },
  ]
}

function weights({ name, dimensions }: Tensor, random: () => number): Buffer {
  const size = sizeOf(dimensions)
  const bytes = Buffer.alloc(padded(4 * size))
  for (let i = 0; i < size; i++) bytes.writeFloatLE(name.includes('norm') ? 1 : (random() - 0.5) / 4, 4 * i)
  return bytes
}

const sizeOf = (dimensions: readonly number[]): number => dimensions.reduce((product, n) => product * n, 1)
const padded = (bytes: number): number => Math.ceil(bytes / ALIGNMENT) * ALIGNMENT

function encode(type: number, value: unknown): Buffer {
  if (type === STRING) return string(value as string)
  if (type === BOOL) return Buffer.from([value === true ? 1 : 0])
  if (type === FLOAT32) return float32(value as number)
  if (type === INT32 || type === UINT32) return uint32(value as number)
  const { type: of, values } = value as { type: number; values: readonly unknown[] }
  return Buffer.concat([uint32(of), uint64(values.length), ...values.map((one) => encode(of, one))])
}

function string(value: string): Buffer {
  const bytes = Buffer.from(value)
  return Buffer.concat([uint64(bytes.length), bytes])
}

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32LE(value)
  return bytes
}

function uint64(value: number): Buffer {
  const bytes = Buffer.alloc(8)
  bytes.writeBigUInt64LE(BigInt(value))
  return bytes
}

function float32(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeFloatLE(value)
  return bytes
}

function noise(seed: number): () => number {
  let state = seed
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
}
