import type { Codec } from '../core/codec.ts'
import { anthropicMessages } from './anthropic-messages/index.ts'

/** Every wire by its name. */
export const codecs: ReadonlyMap<string, Codec> = new Map([anthropicMessages].map((codec) => [codec.format, codec]))
