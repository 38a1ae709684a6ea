export { createTokenizers, type Tokenizers } from './tokenizers.ts'
