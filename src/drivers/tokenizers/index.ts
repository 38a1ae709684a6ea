export { approximate, createTokenizerById, type TokenizerByIdOptions } from './by-id.ts'
export { type CountedText, countText } from './count.ts'
export { OPEN_MODEL_PACKAGES } from './open-models.ts'
export { createTokenizers, type Tokenizers, type TokenizersOptions } from './tokenizers.ts'
