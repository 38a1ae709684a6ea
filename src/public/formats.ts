/** `plimsoll/formats`: the API formats, for programs that read or write requests themselves. */
export { classifyProviderError } from '../formats/overflow/classify.ts'
export { wireOf, type Wire } from '../formats/registry.ts'
export { detectFormat, wires } from '../formats/registry.ts'
