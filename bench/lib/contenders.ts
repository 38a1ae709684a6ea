import { loadTiktoken } from '../../src/drivers/tokenizers/tokenizers.ts'
import { estimateTokens } from '../../src/meter/index.ts'

export type CountText = (text: string) => number

/** Exact o200k counters from npm, each behind its own import so that only one is loaded in a process. */
const NPM_EXACT: Readonly<Record<string, () => Promise<CountText>>> = {
  'gpt-tokenizer': async () => {
    const { countTokens } = await import('gpt-tokenizer/encoding/o200k_base')
    return (text) => countTokens(text)
  },
  'ai-tokenizer': async () => {
    const [{ default: Tokenizer }, encoding] = await Promise.all([
      import('ai-tokenizer'),
      import('ai-tokenizer/encoding/o200k_base'),
    ])
    const tokenizer = new Tokenizer(encoding)
    return (text) => tokenizer.encode(text, [], []).length
  },
  'bpe-lite': async () => {
    const { countTokens } = await import('bpe-lite')
    return (text) => countTokens(text, 'openai-o200k')
  },
  tiktoken: async () => {
    const { get_encoding: encodingOf } = await import('tiktoken')
    const encoding = encodingOf('o200k_base')
    return (text) => encoding.encode_ordinary(text).length
  },
}

const OURS: Readonly<Record<string, () => Promise<CountText>>> = {
  'plimsoll exact': async () => (await loadTiktoken('o200k'))!,
  'plimsoll estimator': async () => (text) => estimateTokens(text, 'o200k').tokens,
}

const NPM_ESTIMATORS: Readonly<Record<string, () => Promise<CountText>>> = {
  'chars/4': async () => (text) => Math.ceil(text.length / 4),
  tokenx: async () => {
    const { estimateTokenCount } = await import('tokenx')
    return (text) => estimateTokenCount(text)
  },
  'llm-token-estimator': async () => {
    const { estimateTokens: estimate } = await import('llm-token-estimator')
    return (text) => estimate(text, { model: 'gpt-4o' }).tokens
  },
}

export const NPM_EXACT_NAMES = Object.keys(NPM_EXACT)
export const ESTIMATOR_NAMES = Object.keys(NPM_ESTIMATORS)

/** Loads a contender by name. */
export async function loadContender(name: string): Promise<CountText> {
  const load = OURS[name] ?? NPM_EXACT[name] ?? NPM_ESTIMATORS[name]
  if (load === undefined) throw new Error(`No contender is called ${name}.`)
  return load()
}
