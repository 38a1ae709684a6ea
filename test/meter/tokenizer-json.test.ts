import { countTokens } from 'bpe-lite'
import { describe, expect, it } from 'vitest'
import type { EventBody } from '../../src/core/events.ts'
import { createTokenizers, loadGemma, loadOpenModel } from '../../src/drivers/tokenizers/tokenizers.ts'
import { createByteLevelCounter, createSentencePieceCounter, rustPattern } from '../../src/meter/bpe/vocabularies.ts'
import { awkwardText, seeded } from './random.ts'

const SEED = 5

describe('byte-level vocabularies', () => {
  // "Ġ" stands for the blank's byte, "é" is two bytes whose aliases are "Ã" and "©".
  const count = createByteLevelCounter({
    model: { vocab: {}, merges: ['l o', ['lo', 'w'], 'Ġ low', 'Ã ©', 'e r'] },
    normalizer: { type: 'NFC' },
    pre_tokenizer: {
      type: 'Sequence',
      pretokenizers: [
        { type: 'Split', pattern: { Regex: '\\p{N}| ?\\p{L}+|\\s+' }, behavior: 'Isolated' },
        { type: 'ByteLevel' },
      ],
    },
  })

  it.each([
    ['low', 1],
    [' low', 1],
    ['lower', 2],
    ['é', 1],
    ['e\u0301', 1],
    ['12', 2],
    ['low?low', 3],
    ['', 0],
  ])('count %j', (text, tokens) => {
    expect(count(text)).toBe(tokens)
  })
})

describe('SentencePiece vocabularies', () => {
  const vocab = Object.fromEntries(
    ['a', 'b', '▁', '▁a', 'ab', '😀', '<td>', '<unused0>'].map((token, index) => [token, index]),
  )
  const count = createSentencePieceCounter({ model: { vocab, merges: ['▁ a', 'a b'] } })

  it.each([
    ['a', 1],
    ['ab', 1],
    [' ab', 2],
    ['😀', 1],
    // Outside the vocabulary: one token per byte.
    ['é', 2],
    ['😁', 4],
    ['a<td>b', 3],
  ])('count %j', (text, tokens) => {
    expect(count(text)).toBe(tokens)
  })
})

describe('patterns written for Rust', () => {
  it('keep their white space, their contractions and their quantifiers', () => {
    const pattern = rustPattern(
      "(?i:'s|'t|'re|'ve|'m|'ll|'d)|\\p{L}++|\\p{N}{1,3}+|\\s+(?!\\S)|[^\\s\\p{L}\\p{N}]+|\\s+",
    )
    expect("It'S 12345\u0085x\ufeff".match(pattern)).toEqual(['It', "'S", ' ', '123', '45', '\u0085', 'x', '\ufeff'])
  })
})

describe("Gemma's vocabulary", () => {
  it(`counts like another implementation of it (seed ${SEED})`, async () => {
    const count = (await loadGemma())!
    const random = seeded(SEED)
    for (let i = 0; i < 400; i++) {
      // The other one takes a character outside the vocabulary for one token instead of one per byte.
      const text = awkwardText(random, 14).replaceAll(/[\ud800\u3000\u0085\u00a0ǅſ]/g, '')
      if (text !== '') expect(count(text), JSON.stringify(text)).toBe(countTokens(text, 'gemini'))
    }
  })

  it('counts a recorded Gemini request to the token', async () => {
    const count = (await loadGemma())!
    expect(count('What is the capital of France?')).toBe(7)
  })
})

describe('tokenizers', () => {
  it('say so when no package carries a vocabulary, once, and leave counting to the estimator', async () => {
    const events: EventBody[] = []
    const tokenizers = createTokenizers({ onEvent: (event) => events.push(event) })
    expect(await loadOpenModel('no-such-family')).toBeUndefined()
    expect(await tokenizers.load('claude')).toBe(false)
    const loaded = await tokenizers.load('deepseek')
    expect(await tokenizers.load('deepseek')).toBe(loaded)
    expect(events.length).toBe(loaded ? 0 : 1)
    expect(tokenizers.get('deepseek') !== undefined).toBe(loaded)
  })
})
