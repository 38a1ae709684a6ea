import type { Count } from '../../core/count.ts'
import { createMeter } from '../../meter/meter.ts'
import type { ModelLookup } from '../../meter/needs.ts'
import { createTokenizers, type Tokenizers } from './tokenizers.ts'

export interface CountedText extends Count {
  readonly model: string
  /** Tokenizer family. */
  readonly family: string
  readonly bytes: number
}

/** Counts one text for a model as well as this installation can: with the exact tokenizer where its vocabulary is there. */
export async function countText(
  catalogue: ModelLookup,
  model: string,
  text: string,
  tokenizers: Tokenizers = createTokenizers(),
): Promise<CountedText> {
  const meter = createMeter({ catalogue, tokenizerFor: tokenizers.get })
  const family = meter.familyOf(model)
  await tokenizers.load(family)
  return { model, family, bytes: Buffer.byteLength(text), ...meter.countText(model, text) }
}
