import * as fc from 'fast-check'
import { anthropicMessagesBody } from './anthropic-messages.ts'
import { bedrockConverseBody } from './bedrock-converse.ts'
import { geminiBody } from './gemini.ts'
import { ollamaChatBody } from './ollama-chat.ts'
import { openaiChatBody } from './openai-chat.ts'
import { openaiResponsesBody } from './openai-responses.ts'
import { script, type Script } from './script.ts'

export { words } from './script.ts'

const RENDER = {
  'anthropic-messages': anthropicMessagesBody,
  'bedrock-converse': bedrockConverseBody,
  gemini: geminiBody,
  'ollama-chat': ollamaChatBody,
  'openai-chat': openaiChatBody,
  'openai-responses': openaiResponsesBody,
} as const satisfies Record<string, (script: Script) => Record<string, unknown>>

export type WireName = keyof typeof RENDER
export const WIRES = Object.keys(RENDER) as WireName[]

export const renderBody = (wire: WireName, value: Script): Record<string, unknown> => RENDER[wire](value)

/** Request bodies of a wire: paired calls, every content form, unknown keys and unknown blocks. */
export function arbitraryBody(wire: WireName): fc.Arbitrary<Record<string, unknown>> {
  return script.map((value) => renderBody(wire, value))
}

/** The same as text, in the white space that clients and people write. */
export function arbitraryBodyText(wire: WireName): fc.Arbitrary<string> {
  return fc
    .tuple(arbitraryBody(wire), fc.constantFrom(0, 1, 2), fc.boolean())
    .map(
      ([body, indent, padded]) =>
        `${padded ? '\n ' : ''}${JSON.stringify(body, undefined, indent)}${padded ? ' ' : ''}`,
    )
}
