export { approximate, createTokenizerById, type TokenizerByIdOptions } from './by-id.ts'
export { type CountedText, countText } from './tokenizers.ts'
export { OPEN_MODEL_PACKAGES } from './tokenizers.ts'
export { createTokenizers, type Tokenizers, type TokenizersOptions } from './tokenizers.ts'
