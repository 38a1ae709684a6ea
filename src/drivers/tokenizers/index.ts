export { createTokenizers } from './tokenizers.ts'
