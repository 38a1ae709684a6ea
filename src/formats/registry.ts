import type { Codec } from '../core/codec.ts'
import { PlimsollError } from '../core/errors.ts'
import { parsedJson, recordOf } from '../core/values.ts'
import type { PromptFraming } from '../core/wire-traits.ts'
import { FORMAT } from './anthropic-messages/decode.ts'
import { wire as anthropicMessages } from './anthropic-messages/wire.ts'
import type { DeclaredTool as AnthropicTool } from './anthropic-messages/encode.ts'
import { claudeOnBedrock, wire as bedrockConverse } from './bedrock-converse/wire.ts'
import type { DeclaredTool as ConverseTool } from './bedrock-converse/encode.ts'
import { wire as gemini } from './gemini/wire.ts'
import type { DeclaredTool as GeminiTool } from './gemini/encode.ts'
import { wire as ollamaChat } from './ollama-chat/wire.ts'
import { wire as openaiChat } from './openai-chat/wire.ts'
import type { DeclaredTool as ChatTool } from './openai-chat/encode.ts'
import { wire as openaiResponses } from './openai-responses/wire.ts'
import type { DeclaredTool as ResponsesTool } from './openai-responses/encode.ts'
import type { Wire } from './wire/wire.ts'

export type { Wire } from './wire/wire.ts'
export { classifyProviderError } from './overflow/classify.ts'
export { wire as DEMO_WIRE } from './anthropic-messages/wire.ts'

/** All wires by name; no other place lists them. */
export const WIRES = {
  'anthropic-messages': anthropicMessages,
  'openai-chat': openaiChat,
  'openai-responses': openaiResponses,
  gemini,
  'ollama-chat': ollamaChat,
  'bedrock-converse': bedrockConverse,
} as const satisfies Readonly<Record<string, Wire>>

export type WireFormat = keyof typeof WIRES

export const wires: readonly Wire[] = Object.values(WIRES)

interface ByFormat {
  'anthropic-messages': AnthropicTool
  'openai-chat': ChatTool
  'openai-responses': ResponsesTool
  gemini: GeminiTool
  'ollama-chat': ChatTool
  'bedrock-converse': ConverseTool
}

/** The element of a request's `tools` for each API format, as the vendor's SDK takes it. A missing format does not compile. */
export type DeclaredTools = { [Format in WireFormat]: ByFormat[Format] }

/** The wire of the demo: it has most features that a wire can have. */
export const DEMO_FORMAT = FORMAT

/** The wire of a request body; undefined for an unknown format. */
export function detectFormat(body: unknown): WireFormat | undefined {
  const fields = recordOf(typeof body === 'string' ? parsedJson(body) : body)
  if (fields === undefined) return undefined
  let found: { readonly id: WireFormat; readonly sure: number } | undefined
  for (const id of Object.keys(WIRES) as WireFormat[]) {
    const sure = WIRES[id].resembles(fields)
    if (sure > (found?.sure ?? 0)) found = { id, sure }
  }
  return found?.id
}

/** Every way in which they are spoken: the wires themselves, and what another vendor serves of one of them. */
export const spoken: readonly Wire[] = [...wires, claudeOnBedrock]

export const byName: ReadonlyMap<string, Wire> = new Map(wires.map((wire) => [wire.id, wire]))

export const WIRE_FORMATS: readonly WireFormat[] = wires.map(({ id }) => id as WireFormat)

export const CODECS = Object.fromEntries(wires.map(({ id, codec }) => [id, codec])) as Readonly<
  Record<WireFormat, Codec>
>

/** The codecs by name, as a map for code that gets them injected. */
export const codecs: ReadonlyMap<string, Codec> = new Map(wires.map(({ id, codec }) => [id, codec]))

export const isWire = (format: unknown): format is WireFormat =>
  typeof format === 'string' && Object.hasOwn(WIRES, format)

/** @throws PlimsollError with code `unsupported` for an unknown name. */
export function wireOf(format: string): Wire {
  if (isWire(format)) return WIRES[format]
  throw new PlimsollError('unsupported', `There is no wire format called ${format}.`, {
    advice: `Use one of ${Object.keys(WIRES).join(', ')}.`,
    fields: { format },
  })
}

/** @throws PlimsollError with code `unsupported` for an unknown name. */
export const codecOf = (format: string): Codec => wireOf(format).codec

/** How a wire frames its prompts, for the meter. */
export const framingOfWire = (format: string): PromptFraming | undefined => codecs.get(format)?.traits.promptFraming
