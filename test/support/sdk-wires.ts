import type { Wire } from '../../src/testing/referee/index.ts'

/** Wires that are tried with an SDK of their vendor's; tests of the others write their bodies themselves. */
export type SdkWire = Exclude<Wire, 'ollama-chat' | 'bedrock-converse'>
